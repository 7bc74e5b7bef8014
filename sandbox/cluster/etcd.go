package cluster

import (
	"errors"
	"io/fs"
	"os"
)

// etcdData is the folder with etcd's data. An etcd that is killed between
// making its log and writing its only member into it starts again without any
// member, and waits for a leader for ever. So data is kept only once an etcd
// has answered from it; before, nothing can have been stored in it.
type etcdData string

func (d etcdData) mark() string { return string(d) + ".answered" }

// prepare makes the folder, empty if no etcd has answered from it yet.
func (d etcdData) prepare() error {
	_, err := os.Stat(d.mark())
	if errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(string(d))
	}
	if err != nil {
		return err
	}
	return os.MkdirAll(string(d), 0o700)
}

// answered notes that the data is whole.
func (d etcdData) answered() error {
	if _, err := os.Stat(d.mark()); err == nil {
		return nil
	}
	return os.WriteFile(d.mark(), nil, 0o600)
}
