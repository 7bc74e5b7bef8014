package az

import (
	"encoding/base64"
	"os"
	"strconv"
	"strings"

	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/spf13/cobra"
)

// sourceFlags are the flags of create and update that say what is followed.
type sourceFlags struct {
	kind, url, branch, tag, semver, commit string
	interval, timeout                      string
	httpsUser, httpsKey, localAuthRef      string
	suspend, noWait, yes                   bool
	kustomizations                         []string
}

func (s *sourceFlags) addTo(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.kind, "kind", "git", "kind of the source; git is the only one here")
	f.StringVarP(&s.url, "url", "u", "", "URL of the repository")
	f.StringVar(&s.branch, "branch", "", "branch to follow")
	f.StringVar(&s.tag, "tag", "", "tag to follow")
	f.StringVar(&s.semver, "semver", "", "range of versions to follow")
	f.StringVar(&s.commit, "commit", "", "commit to stay on")
	f.StringVar(&s.interval, "interval", "", "time between looks at the repository")
	f.StringVar(&s.timeout, "timeout", "", "how long a look may take")
	f.StringVar(&s.httpsUser, "https-user", "", "user of a private repository")
	f.StringVar(&s.httpsKey, "https-key", "", "token or password of that user, or @FILE with it, which keeps it out of the list of processes")
	f.StringVar(&s.localAuthRef, "local-auth-ref", "", "secret on the cluster that has the credentials")
	f.BoolVar(&s.suspend, "suspend", false, "do not follow the repository for now")
	f.BoolVar(&s.noWait, "no-wait", false, "do not wait until it is on the cluster")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask")
	f.StringArrayVarP(&s.kustomizations, "kustomization", "k", nil, "folder to apply: name=NAME [path=PATH prune=true sync_interval=10s ...]; may be repeated")
}

func (s *sourceFlags) check() error {
	switch {
	case s.kind != "git":
		return usage.New("--kind " + s.kind + " is not supported here, only git")
	case (s.httpsUser == "") != (s.httpsKey == ""):
		return usage.New("--https-user and --https-key cannot be used separately")
	}
	// as in the Azure CLI
	if file, ok := strings.CutPrefix(s.httpsKey, "@"); ok {
		key, err := os.ReadFile(file)
		if err != nil {
			return usage.New("--https-key: " + err.Error())
		}
		s.httpsKey = strings.TrimSuffix(string(key), "\n")
	}
	return nil
}

// properties are those that the flags set, as the service takes them in a merge.
func (s *sourceFlags) properties(z *call, given func(flag string) bool) (map[string]any, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	url, err := z.sandboxURL(s.url)
	if err != nil {
		return nil, err
	}
	all, source, ref := map[string]any{}, map[string]any{}, map[string]any{}
	for flag, value := range map[string]string{"branch": s.branch, "tag": s.tag, "semver": s.semver, "commit": s.commit} {
		if given(flag) {
			// one takes the place of the other
			source["repositoryRef"] = ref
		}
		ref[flag] = orNil(value)
	}
	for flag, text := range map[string]string{"interval": s.interval, "timeout": s.timeout} {
		n, err := seconds("--"+flag, text)
		if err != nil {
			return nil, err
		}
		if given(flag) {
			source[map[string]string{"interval": "syncIntervalInSeconds", "timeout": "timeoutInSeconds"}[flag]] = n
		}
	}
	for flag, value := range map[string]string{"url": url, "https-user": s.httpsUser, "local-auth-ref": s.localAuthRef} {
		if given(flag) {
			source[map[string]string{"url": "url", "https-user": "httpsUser", "local-auth-ref": "localAuthRef"}[flag]] = value
		}
	}
	if given("suspend") {
		all["suspend"] = s.suspend
	}
	if s.httpsKey != "" {
		all["configurationProtectedSettings"] = map[string]string{"httpsKey": base64.StdEncoding.EncodeToString([]byte(s.httpsKey))}
	}
	if len(source) > 0 {
		all["gitRepository"] = source
	}
	kustomizations := map[string]any{}
	for _, text := range s.kustomizations {
		name, properties, err := kustomization(strings.Split(text, separator))
		if err != nil {
			return nil, err
		}
		if kustomizations[name] != nil {
			return nil, usage.New("kustomization name '" + name + "' is there twice")
		}
		kustomizations[name] = properties
	}
	if len(kustomizations) > 0 {
		all["kustomizations"] = kustomizations
	}
	return all, nil
}

// sandboxURL leads the tutorials' URLs on GitHub to the sandbox's forge: its
// organisation is there under the same name, and GitHub is not within reach.
func (z *call) sandboxURL(url string) (string, error) {
	rest, ok := strings.CutPrefix(url, "https://github.com/"+sandbox.Organisation+"/")
	if !ok || z.real {
		return url, nil
	}
	home, err := z.Home()
	if err != nil {
		return "", err
	}
	forge, err := sandbox.GetCredentials(home)
	if err != nil {
		return "", err
	}
	url = forge.OrgURL + "/" + rest
	z.Messagef("https://github.com/%s is %s in the sandbox: following %s", sandbox.Organisation, forge.OrgURL, url)
	return url, nil
}

// orNil is nil for the empty text.
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// kustomizationKeys are the keys of --kustomization, each with the property
// that it sets.
var kustomizationKeys = map[string]string{
	"name": "name", "path": "path", "prune": "prune", "force": "force", "timeout": "timeoutInSeconds",
	"disable_health_check": "wait",
	"interval":             "syncIntervalInSeconds", "sync_interval": "syncIntervalInSeconds", "syncInterval": "syncIntervalInSeconds",
	"retry_interval": "retryIntervalInSeconds", "retryInterval": "retryIntervalInSeconds",
	"depends": "dependsOn", "depends_on": "dependsOn", "dependsOn": "dependsOn", "dependencies": "dependsOn",
}

// kustomization reads words such as name=apps path=./apps prune=true into a name
// and the properties that they set.
func kustomization(words []string) (name string, properties map[string]any, err error) {
	properties = map[string]any{}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		property := kustomizationKeys[key]
		if !ok || property == "" {
			return "", nil, usage.Errorf("--kustomization takes KEY=VALUE [KEY=VALUE ...], and knows no %q", w)
		}
		switch property {
		case "name":
			name = value
		case "path":
			properties[property] = value
		case "prune", "force", "wait":
			b, err := strconv.ParseBool(strings.ToLower(value))
			if err != nil {
				return "", nil, usage.Errorf("%s=%s: write true or false", key, value)
			}
			properties[property] = b != (key == "disable_health_check")
		case "dependsOn":
			all, _ := properties[property].([]string)
			for _, one := range strings.Split(strings.Trim(value, "[]"), ",") {
				if one = strings.Trim(strings.TrimSpace(one), `"'`); one != "" {
					all = append(all, one)
				}
			}
			properties[property] = append([]string{}, all...)
		default:
			if properties[property], err = seconds(key, value); err != nil {
				return "", nil, err
			}
		}
	}
	if name == "" {
		return "", nil, usage.New("a kustomization has no name: write --kustomization name=NAME")
	}
	return name, properties, nil
}
