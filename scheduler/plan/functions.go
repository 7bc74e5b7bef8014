package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// impure are the functions of sprig's hermetic map that depend on chance, on
// the clock or on the machine's time zone, or that are of no use without those.
var impure = []string{
	"ago", "toDate", "mustToDate", "mustDateModify", "must_date_modify", "unixEpoch",
	"shuffle", "randInt", "bcrypt", "htpasswd", "encryptAES",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey",
}

// functions are what templates may call: sprig's hermetic functions, without
// those that give a different result each time, and ours.
var functions = func() template.FuncMap {
	m := sprig.HermeticTxtFuncMap()
	for _, name := range impure {
		delete(m, name)
	}
	maps.Copy(m, template.FuncMap{
		guardName:   guard,
		strictIndex: index,
		strictGet:   get,

		"toYaml":    toYAML,
		"stringify": stringify,
		"hash":      hash,
		"unquote":   unquote,

		// sprig returns these two in random order.
		"keys":   keys,
		"values": values,

		"printf":    printf,
		"repeat":    repeat,
		"indent":    indented(m["indent"].(func(int, string) string)),
		"nindent":   indented(m["nindent"].(func(int, string) string)),
		"replace":   replace,
		"join":      joined(m["join"].(func(string, any) string)),
		"wrapWith":  wrapped(m["wrapWith"].(func(int, string, string) string)),
		"split":     func(sep, s string) (map[string]string, error) { return split(sep, -1, s) },
		"splitn":    split,
		"uniq":      unique(m["mustUniq"].(func(any) ([]any, error))),
		"mustUniq":  unique(m["mustUniq"].(func(any) ([]any, error))),
		"until":     func(n int) ([]int, error) { return steps(0, n, sign(n)) },
		"untilStep": steps,
		"seq":       sequence(m["seq"].(func(...int) string)),

		patternName:                  pattern,
		"regexReplaceAll":            replaceAll((*regexp.Regexp).ReplaceAllString),
		"mustRegexReplaceAll":        replaceAll((*regexp.Regexp).ReplaceAllString),
		"regexReplaceAllLiteral":     replaceAll((*regexp.Regexp).ReplaceAllLiteralString),
		"mustRegexReplaceAllLiteral": replaceAll((*regexp.Regexp).ReplaceAllLiteralString),
	})
	return m
}()

// stringify turns the maps and lists among a map's values into YAML strings,
// because a ConfigMap can hold strings only.
func stringify(data any) (any, error) {
	m, ok := data.(map[string]any)
	if !ok {
		return data, nil
	}
	out := make(map[string]any, len(m))
	for key, value := range m {
		switch value.(type) {
		case map[string]any, []any:
			text, err := toYAML(value)
			if err != nil {
				return nil, err
			}
			out[key] = text
		default:
			out[key] = value
		}
	}
	return out, nil
}

// hash is a short name for a text: ten characters that may stand in any
// Kubernetes name.
func hash(text any) string {
	sum := sha256.Sum256([]byte(valueText(text)))
	return hex.EncodeToString(sum[:5])
}

// unquote takes away the quotes around a text.
func unquote(text any) string {
	s := valueText(text)
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		return s[1 : n-1]
	}
	return s
}

func keys(dicts ...map[string]any) []string {
	var all []string
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

func values(dict map[string]any) []any {
	var all []any
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}
