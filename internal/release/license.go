package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// licenseTexts is a text with the licence of every module, each text once.
func licenseTexts(modules []module) ([]byte, error) {
	users := map[string][]string{}
	var texts []string
	for _, m := range modules {
		for _, f := range m.Files {
			text := strings.TrimSpace(strings.ReplaceAll(f.Text, "\r\n", "\n"))
			if _, ok := users[text]; !ok {
				texts = append(texts, text)
			}
			if user := m.Name + " " + m.Version; !slices.Contains(users[text], user) {
				users[text] = append(users[text], user)
			}
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("of %d modules none has a licence", len(modules))
	}
	slices.SortStableFunc(texts, func(a, b string) int { return strings.Compare(users[a][0], users[b][0]) })
	var out bytes.Buffer
	out.WriteString("What kalypso and the programs in it are made of, with its licences.\n")
	for _, text := range texts {
		slices.Sort(users[text])
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 72), strings.Join(users[text], "\n"), text)
	}
	return out.Bytes(), nil
}

// most is how much of a text, in percent, has to be licences' for these to be
// what a module is under.
const most = 75

// addedToSPDX are the names that licensecheck has given itself to what SPDX has no
// identifier for, as its list says.
var addedToSPDX = []string{
	"Aladdin-9", "Anti996", "BSD-1-Clause-Clear", "BSD-3-Clause-NoTrademark", "CC-BY-NC-SA-3.0-US", "CommonsClause",
	"GooglePatentClause", "GooglePatentsFile", "LGPL-2.0-or-3.0", "MIT-NoAd", "Prosperity-3.0.0",
}

// licensesOf returns the names of a module's licences, SPDX identifiers but for
// addedToSPDX; none where its texts are not known.
func licensesOf(m module) []string {
	var ids []string
	for _, f := range m.Files {
		found := licensecheck.Scan([]byte(f.Text))
		if found.Percent < most {
			continue
		}
		for _, match := range found.Match {
			if !match.IsURL && !slices.Contains(ids, match.ID) {
				ids = append(ids, match.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
