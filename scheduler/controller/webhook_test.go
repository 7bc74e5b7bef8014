package controller

import "testing"

func FuzzParseEvent(f *testing.F) {
	f.Add("push", []byte(`{"ref": "refs/heads/main", "repository": {"clone_url": "http://forge.test/acme/web.git"}}`))
	f.Add("delete", []byte(`{"ref": "main", "ref_type": "branch"}`))
	f.Add("pull_request", []byte(`{"pull_request": null}`))
	f.Add("issues", []byte(`[]`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		ev, ok, err := parseEvent(kind, body)
		if ok && (err != nil || ev.kind == "") {
			t.Errorf("%+v, %v", ev, err)
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(goodConfig))
	f.Add([]byte("{\n\t\"forge\": {}}"))
	f.Add([]byte(gitHubConfig))
	f.Add([]byte("---\n---\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = ParseConfig("c.yaml", data) // must not panic
	})
}
