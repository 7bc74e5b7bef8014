package ci

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Recipe is what a Dockerfile says, as far as it can be done without running
// anything: FROM one base, COPY, and what goes into the image's configuration.
// RUN and further stages need a container engine and are refused: building the
// program is a step of its own.
type Recipe struct {
	From       string // image, or scratch
	Copies     []Copy
	Env        []string // NAME=VALUE
	Labels     map[string]string
	Ports      []string // as in 8080/tcp
	User       string
	WorkingDir string
	Entrypoint []string
	Command    []string
}

// Copy is a COPY: files or folders of the context, and where they go.
type Copy struct {
	Sources []string
	To      string // a folder when it ends in a slash or there are several sources
	Line    int
}

// scratch is the base that has nothing.
const scratch = "scratch"

// ParseDockerfile reads a Dockerfile. Errors begin with file and line.
func ParseDockerfile(file string, content []byte) (Recipe, error) {
	recipe := Recipe{Labels: map[string]string{}}
	lines := strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		number := i + 1
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`)
			if next := strings.TrimSpace(lines[i]); !strings.HasPrefix(next, "#") {
				line += " " + next
			} else {
				line += `\`
			}
		}
		word, rest, _ := strings.Cut(line, " ")
		word, rest = strings.ToUpper(word), strings.TrimSpace(rest)
		if recipe.From == "" && word != "FROM" {
			return Recipe{}, fmt.Errorf("%s:%d: %s comes ahead of FROM", file, number, word)
		}
		if err := recipe.add(word, rest, number); err != nil {
			return Recipe{}, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	if recipe.From == "" {
		return Recipe{}, fmt.Errorf("%s: there is no FROM", file)
	}
	return recipe, nil
}

// add takes in one instruction.
func (r *Recipe) add(word, rest string, line int) (err error) {
	if rest == "" {
		return fmt.Errorf("%s says nothing", word)
	}
	if word != "ENTRYPOINT" && word != "CMD" && strings.ContainsRune(rest, '$') {
		return fmt.Errorf("%s has a variable: write its value, variables are not replaced here", word)
	}
	switch word {
	case "FROM":
		return r.from(rest)
	case "COPY":
		return r.copy(rest, line)
	case "ENV":
		return pairs(rest, func(name, value string) { r.Env = append(r.Env, name+"="+value) })
	case "LABEL":
		return pairs(rest, func(name, value string) { r.Labels[name] = value })
	case "EXPOSE":
		for _, port := range strings.Fields(rest) {
			if !strings.Contains(port, "/") {
				port += "/tcp"
			}
			r.Ports = append(r.Ports, port)
		}
	case "USER":
		r.User = rest
	case "WORKDIR":
		r.WorkingDir = under(r.WorkingDir, rest)
	case "ENTRYPOINT":
		r.Entrypoint, err = execForm(word, rest)
		r.Command = nil
	case "CMD":
		r.Command, err = execForm(word, rest)
	case "RUN", "ADD", "ARG", "SHELL", "ONBUILD", "HEALTHCHECK", "VOLUME", "STOPSIGNAL", "MAINTAINER":
		return withHint(fmt.Errorf("%s is not possible without a container engine", word),
			"do it in a step of the workflow ahead of this one, or build the image with Docker")
	default:
		return fmt.Errorf("%q is no instruction", word)
	}
	return err
}

func (r *Recipe) from(rest string) error {
	if r.From != "" {
		return withHint(fmt.Errorf("a second FROM: images are made in one stage here"), "build the program in a step of the workflow ahead of this one")
	}
	fields := strings.Fields(rest)
	if len(fields) == 3 && strings.EqualFold(fields[1], "AS") {
		fields = fields[:1]
	}
	if len(fields) != 1 || strings.HasPrefix(fields[0], "--") {
		return fmt.Errorf("FROM %s: name one image, without flags", rest)
	}
	r.From = fields[0]
	return nil
}

func (r *Recipe) copy(rest string, line int) error {
	var fields []string
	if strings.HasPrefix(rest, "[") {
		if err := json.Unmarshal([]byte(rest), &fields); err != nil {
			return fmt.Errorf("COPY %s: %w", rest, err)
		}
	} else {
		fields = strings.Fields(rest)
	}
	if len(fields) < 2 || strings.HasPrefix(fields[0], "--") {
		return fmt.Errorf("COPY %s: give sources and a destination, without flags", rest)
	}
	to := fields[len(fields)-1]
	absolute := under(r.WorkingDir, to)
	if strings.HasSuffix(to, "/") && absolute != "/" || len(fields) > 2 {
		absolute = strings.TrimSuffix(absolute, "/") + "/"
	}
	r.Copies = append(r.Copies, Copy{Sources: fields[:len(fields)-1], To: absolute, Line: line})
	return nil
}

// under is an absolute path in the image: a relative one begins at the working
// directory.
func under(working, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", working, name)
}

// execForm reads the JSON form of ENTRYPOINT and CMD, or else makes it of the
// shell form as Docker does: the image must have a shell then.
func execForm(word, rest string) ([]string, error) {
	if !strings.HasPrefix(rest, "[") {
		return []string{"/bin/sh", "-c", rest}, nil
	}
	var args []string
	if err := json.Unmarshal([]byte(rest), &args); err != nil || len(args) == 0 {
		return nil, fmt.Errorf(`%s %s is no list of texts, as in ["/app", "--flag"]`, word, rest)
	}
	return args, nil
}

// pairs reads NAME=VALUE ..., where a value can be in double quotes, and the
// older NAME VALUE.
func pairs(rest string, add func(name, value string)) error {
	first, _, _ := strings.Cut(rest, " ")
	if !strings.Contains(first, "=") {
		name, value, ok := strings.Cut(rest, " ")
		if !ok {
			return fmt.Errorf("%q has no value", rest)
		}
		add(name, strings.TrimSpace(value))
		return nil
	}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("%q is not of the form NAME=VALUE", rest)
		}
		var value string
		if quoted, isQuoted := strings.CutPrefix(after, `"`); isQuoted {
			if value, after, ok = strings.Cut(quoted, `"`); !ok {
				return fmt.Errorf("the quote in %q does not end", rest)
			}
		} else {
			value, after, _ = strings.Cut(after, " ")
		}
		add(name, value)
		rest = strings.TrimSpace(after)
	}
	return nil
}
