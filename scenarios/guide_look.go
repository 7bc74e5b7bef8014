package scenarios

import (
	"fmt"
	"strings"
)

func (s *sights) seeRepo(name string, args []string, not bool, line string) error {
	if name == "repo gone" {
		s.say("`%s/%s` is not there any more.", guideOrg, args[0])
		return nil
	}
	if name == "repo promotes" {
		s.say("`%s/%s/src/branch/%s/%s` %s.", guideOrg, args[0], args[1], basePath, s.promotes(not))
		return nil
	}
	place := fmt.Sprintf("`%s/%s/src/branch/%s/%s`", guideOrg, args[0], args[1], args[2])
	switch name {
	case "repo show":
		s.output = place
	case "repo same-yaml", "repo has-text":
		s.commit, s.branch = fmt.Sprintf("the commit that brought `%s`", args[2]), args[1]
		if !s.once(args...) {
			return nil
		}
		if content := s.content(args[3]); content != "" && !not {
			s.say("%s holds:%s", place, content)
		} else {
			s.say("%s %s it.", place, doesNot(not, "shows"))
		}
	default:
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	return nil
}

// promotes words which commit a promotion is of.
func (s *sights) promotes(not bool) string {
	if not {
		return "has neither the ID of " + s.commit + ", nor that of a later one that contains it"
	}
	return "has the ID of " + s.commit + ", or of a later one that contains it"
}

func (s *sights) seeForge(name string, args []string, not bool, line string) error {
	switch name {
	case "issue open":
		s.say("`%s/%s/issues` has an open issue *%s*.%s", guideOrg, args[0], args[1], says(args[2:]))
	case "issue count":
		s.say("The number of open issues in `%s/%s/issues` is %s.", guideOrg, args[0], args[1])
	case "issue closed":
		s.say("`%s/%s/issues?state=closed` has the issue *%s*: it is closed.", guideOrg, args[0], args[1])
	case "status":
		whose := s.commit
		if args[1] == "$MERGE_COMMIT" {
			whose = s.merge
		}
		description := ""
		if len(args) == 5 {
			description = fmt.Sprintf(", with the text *%s*", args[4])
		}
		s.say("On `%s/%s/commits/branch/%s`, %s has the status *%s*: %s%s.",
			guideOrg, args[0], s.branch, whose, args[2], args[3], description)
	case "workflow wait":
		ended := map[string]string{"success": "succeeded", "failure": "failed"}[append(args, "success")[4]]
		s.say("`%s/%s/actions?workflow=%s` has a run that has %s.", guideOrg, args[0], args[1], ended)
	default:
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	return nil
}

func (s *sights) seeSays(args []string, not bool) error {
	text, command := args[0], args[1:]
	switch command[0] {
	case "kubectl", "az", "kalypso":
		s.output = "It"
		s.say("This %s %s:%s", doesNot(not, "prints"), s.quote(text), s.command(command))
		return nil
	}
	if err := s.see(command); err != nil {
		return err
	}
	s.say("%s %s %s.", s.output, doesNot(not, "says"), s.quote(text))
	return nil
}

func (s *sights) command(args []string) string {
	if args[0] != "kalypso" {
		args = append([]string{"kalypso"}, args...)
	}
	return within("sh", commandLine(args))
}

func (s *sights) seeCommand(args []string, not bool) {
	s.output = "It"
	if not {
		s.say("This finds nothing any more:%s", s.command(args))
		return
	}
	s.say("This finds it:%s", s.command(args))
}

// seePage is a page of an application, which a port-forward brings here.
func (s *sights) seePage(args []string, not bool, line string) error {
	forward := []string{"kubectl"}
	if args[0] == "--context" {
		forward, args = append(forward, args[:2]...), args[2:]
	}
	if not {
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	namespace, service, port, path, texts := args[0], args[1], args[2], args[3], args[4:]
	forward = append(forward, "--namespace", namespace, "port-forward", service, port+":"+port)
	s.say("While this runs, the page http://localhost:%s%s answers.%s End it with ctrl-c.%s", port, path, says(texts), s.command(forward))
	return nil
}

// seeObjects are objects on a cluster: commands that show them, and what they
// hold if the reader has not seen it.
func (s *sights) seeObjects(args []string, not bool, line string) error {
	if not {
		return fmt.Errorf("the guide cannot say what %q is", line)
	}
	var flags, commands []string
	var contents strings.Builder
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			flags = args[i:]
			args = args[:i]
			break
		}
	}
	for _, file := range args {
		objects, err := parseObjects(file, []byte(s.files[file]))
		if err != nil {
			return err
		}
		for _, o := range objects {
			commands = append(commands, commandLine(getCommand(o, flags)))
		}
		contents.WriteString(s.content(file))
	}
	where := "the cluster"
	if len(flags) == 2 && flags[0] == "--context" {
		where = "`" + flags[1] + "`"
	}
	what := ", as you have seen above"
	if contents.Len() > 0 {
		what = ", with these fields"
	}
	s.say("These are on %s%s:%s%s", where, what, within("sh", strings.Join(commands, "\n")), contents.String())
	return nil
}

// getCommand shows an object on the cluster that flags name; one that holds
// settings is shown as a whole.
func getCommand(object any, flags []string) []string {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	command := append([]string{"kalypso", "kubectl"}, flags...)
	if namespace, ok := metadata["namespace"].(string); ok {
		command = append(command, "--namespace", namespace)
	}
	kind := fmt.Sprint(fields["kind"])
	command = append(command, "get", strings.ToLower(kind), fmt.Sprint(metadata["name"]))
	if kind == "ConfigMap" {
		command = append(command, "--output", "yaml")
	}
	return command
}
