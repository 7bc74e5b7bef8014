package supervisor

import (
	"bytes"
	"io"
	"os"
	"strings"
)

const (
	logLimit  = 16 << 20
	tailBytes = 16 << 10
	// asideSuffix ends the name of the file that an earlier, large part of a
	// log is kept in.
	asideSuffix = ".1"
)

// openLog opens a log for appending. One that has grown large is kept once as
// FILE.1, so that logs never fill a disk over many starts.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+asideSuffix); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Tail returns the last lines of a file; none when it cannot be read.
func Tail(path string, lines int) []string {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return nil
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	b = bytes.TrimRight(b, "\n")
	if len(b) == 0 {
		return nil
	}
	all := strings.Split(string(b), "\n")
	return all[max(0, len(all)-lines):]
}
