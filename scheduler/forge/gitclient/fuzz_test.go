package gitclient_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-dev/kalypso/internal/testkit/gitpack"
	"github.com/kalypso-dev/kalypso/scheduler/forge/gitclient"
	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// script makes a pack of what a fuzzer has written, so that what it changes is
// not lost behind checksums and compression. Each object is a byte for its
// kind, one that names an object before it, a length and so much content.
func script(data []byte) (*gitpack.Packer, uint32) {
	p := new(gitpack.Packer)
	var made []plumbing.Hash // of all objects, as far as they are known
	var offsets []int
	of := func(n byte) plumbing.Hash {
		if len(made) == 0 {
			return plumbing.ZeroHash
		}
		return made[int(n)%len(made)]
	}
	for len(data) >= 4 && p.Count() < 200 {
		op, base, n := data[0], data[1], int(binary.LittleEndian.Uint16(data[2:]))
		content := data[4:min(4+n, len(data))]
		data = data[4+len(content):]
		kind, between := plumbing.BlobObject, []byte(nil)
		hash := of(base)
		switch op & 7 {
		case 0:
			kind = plumbing.CommitObject
			content = fmt.Appendf(nil, "tree %s\nauthor a <a@b> 1 +0000\n%s", hash, content)
		case 1, 2:
			kind = plumbing.TreeObject
			var b bytes.Buffer
			for i, name := range bytes.Split(content, []byte("/")) {
				mode := gitpack.File
				if op&8 != 0 {
					mode = gitpack.Folder
				}
				child := of(base + byte(i)*(op>>6))
				b.WriteString(mode + " ")
				b.Write(name)
				b.WriteByte(0)
				b.Write(child[:])
			}
			content = b.Bytes()
		case 3:
			kind, between = plumbing.REFDeltaObject, hash[:]
		case 4:
			if len(offsets) == 0 {
				continue
			}
			kind = plumbing.OFSDeltaObject
			back := p.Len() - offsets[int(base)%len(offsets)]
			between = []byte{byte(back & 127)}
			for back >>= 7; back > 0; back >>= 7 {
				back--
				between = append([]byte{byte(back&127) | 0x80}, between...)
			}
		}
		declared := uint64(len(content))
		if op&16 != 0 {
			declared ^= uint64(base) << (op >> 5 * 8)
		}
		offsets = append(offsets, p.Entry(kind, declared, between, content))
		made = append(made, plumbing.ComputeHash(kind, content))
	}
	count := p.Count()
	if len(data) == 1 {
		count += uint32(data[0])
	}
	return p, count
}

// record is one object of a script.
func record(op, base byte, content []byte) []byte {
	return append(binary.LittleEndian.AppendUint16([]byte{op, base}, uint16(len(content))), content...)
}

// FuzzPack reads what a server may send: it never panics, and takes no more
// memory than a read may.
func FuzzPack(f *testing.F) {
	small := record(5, 0, []byte("kind: Workload\n"))
	add := func(records ...[]byte) { f.Add(bytes.Join(records, nil), false) }
	add(small, record(1, 0, []byte("a.yaml")), record(0, 1, nil))
	add(small, record(1, 0, []byte("a.yaml/b.txt")), record(9, 1, []byte("d/e")), record(0, 2, nil))
	add(small, record(3, 0, gitpack.Copies(15, 40)), record(1, 0, []byte("a.yaml")), record(0, 2, nil))
	add(small, record(4, 0, gitpack.Copies(15, 40)), record(4, 1, gitpack.Copies(40, 1<<20)), record(4, 2, gitpack.Copies(1<<20, 1<<30)), record(1, 0, []byte("a.yaml")), record(0, 4, nil))
	add(small, record(1, 0, []byte("a.yaml")), record(4, 1, append(binary.AppendUvarint(binary.AppendUvarint(nil, 34), 34), 0x90, 34)), record(0, 1, nil), record(4, 3, []byte("xx")))
	add(small, record(5|16|32, 255, nil), record(0, 0, nil), []byte{1})
	chain := small
	for i := range byte(60) {
		chain = append(chain, record(9, i, []byte("d"))...)
	}
	add(chain, record(0, 60, nil))
	f.Fuzz(func(t *testing.T, data []byte, filtered bool) {
		p, count := script(data)
		trees, taken, err := gitclient.ReadPack(p.Pack(count), filtered)
		if taken > gitclient.MaxRead || taken < 0 {
			t.Errorf("%d bytes taken", taken)
		}
		if err != nil && len(trees) > 0 && count == 0 {
			t.Errorf("%v, and trees", err)
		}
		for _, files := range trees {
			for name, content := range files {
				if len(content) > model.MaxFile || len(name) > model.MaxPath {
					t.Errorf("%q has %d bytes", name, len(content))
				}
			}
		}
	})
}
