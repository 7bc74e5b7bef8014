package githubfake

import (
	"fmt"
	"strings"
	"time"
)

func postCommit(c *call) (any, error) {
	person := "object"
	in, err := c.body(fields{"message": "!string", "tree": "!string", "parents": "strings", "author": person, "committer": person, "signature": "string"})
	if err != nil {
		return nil, err
	}
	b := c.repo.bare
	if b.empty() {
		return nil, emptyRepository()
	}
	if b.kind(text(in, "tree")) != "tree" {
		return nil, unprocessable("Tree SHA does not exist")
	}
	raw := "tree " + text(in, "tree") + "\n"
	for _, p := range texts(in, "parents") {
		if b.kind(p) != "commit" {
			return nil, unprocessable("Parent SHA does not exist or is not a commit object")
		}
		raw += "parent " + p + "\n"
	}
	author := object{"name": c.user.Login, "email": c.user.Login + "@users.noreply.github.com"}
	if a, ok := in["author"].(object); ok {
		author = a
	}
	committer := author
	if m, ok := in["committer"].(object); ok {
		committer = m
	}
	for _, who := range []struct {
		role string
		o    object
	}{{"author", author}, {"committer", committer}} {
		if err := check(who.o, fields{"name": "!string", "email": "!string", "date": "string"}); err != nil {
			return nil, err
		}
		when := c.server.now()
		if has(who.o, "date") {
			if when, err = time.Parse(time.RFC3339, text(who.o, "date")); err != nil {
				return nil, unprocessable(who.role + ".date is not a valid ISO 8601 timestamp")
			}
		}
		raw += fmt.Sprintf("%s %s <%s> %d %s\n", who.role, text(who.o, "name"), text(who.o, "email"), when.Unix(), when.Format("-0700"))
	}
	id := must(b.store("commit", []byte(raw+"\n"+text(in, "message"))))
	return created{c.repo.commitJSON(id)}, nil
}

func (r *repository) commitJSON(id string) object {
	o := object{"sha": id, "message": r.bare.try("log", "-1", "--format=%B", id), "tree": object{"sha": r.bare.try("rev-parse", id+"^{tree}")}}
	parents := []object{}
	for p := range strings.FieldsSeq(r.bare.try("log", "-1", "--format=%P", id)) {
		parents = append(parents, object{"sha": p})
	}
	o["parents"] = parents
	return o
}
