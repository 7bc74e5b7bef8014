package promote

import (
	"bytes"
	"path"
	"strings"
)

// matters tells whether two versions of the control plane's default branch
// differ in something that an environment takes from its folder: YAML files,
// and the files that say which of them count. Workflows and the definitions of
// the environments themselves are of the control plane, not of what is
// promoted.
func matters(folder string, before, after map[string][]byte) bool {
	for file, content := range after {
		if old, ok := before[file]; counts(folder, file) && (!ok || !bytes.Equal(old, content)) {
			return true
		}
	}
	for file := range before {
		if _, ok := after[file]; counts(folder, file) && !ok {
			return true
		}
	}
	return false
}

// counts tells whether a file is among those that an environment takes.
func counts(folder, file string) bool {
	folder = strings.Trim(path.Clean("/"+folder), "/")
	if folder != "" && !strings.HasPrefix(file, folder+"/") {
		above := path.Dir(file)
		return path.Base(file) == ".sourceignore" && (above == "." || strings.HasPrefix(folder+"/", above+"/"))
	}
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		switch part {
		case ".github", ".gitea", ".environments":
			return false
		}
	}
	switch path.Ext(file) {
	case ".yaml", ".yml":
		return true
	}
	return path.Base(file) == ".sourceignore"
}
