package actions

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	runnerv1 "code.gitea.io/actions-proto-go/runner/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// record is what is kept of a task on disk while it runs, so that the next
// runner can tell the forge how it ended.
type record struct {
	Label   string            `json:"label"`
	State   json.RawMessage   `json:"state"` // of the task, as last told to the forge, or about to be
	Outputs map[string]string `json:"outputs,omitempty"`
}

// records is the folder of the records, one file per task.
type records string

func (r records) file(id int64) string {
	return filepath.Join(string(r), strconv.FormatInt(id, 10)+".json")
}

func (r records) save(label string, s *runnerv1.TaskState, outputs map[string]string) error {
	state, err := protojson.Marshal(s)
	if err != nil {
		return err
	}
	b, err := json.Marshal(record{label, state, outputs})
	if err != nil {
		return err
	}
	return writeFile(r.file(s.GetId()), b)
}

func (r records) remove(id int64) error {
	err := os.Remove(r.file(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// interrupted are the tasks that a runner has not brought to an end. A record
// that cannot be read still tells its task.
func (r records) interrupted() ([]*runnerv1.TaskState, []record, error) {
	files, err := filepath.Glob(filepath.Join(string(r), "*.json"))
	if err != nil {
		return nil, nil, err
	}
	var states []*runnerv1.TaskState
	var all []record
	for _, file := range files {
		id, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".json"), 10, 64)
		if err != nil {
			continue
		}
		state, rec := &runnerv1.TaskState{}, record{}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		if json.Unmarshal(b, &rec) != nil || protojson.Unmarshal(rec.State, state) != nil {
			state = &runnerv1.TaskState{}
		}
		if rec.Label == "" {
			rec.Label = fmt.Sprintf("task %d", id)
		}
		state.Id = id
		states, all = append(states, state), append(all, rec)
	}
	return states, all, nil
}

// writeFile replaces a file that only this user can read, in one step.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
