// Package gitpack writes git packs that no git would, and serves them: what
// somebody may send who means harm.
package gitpack

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// Packer collects objects. The zero Packer is ready.
type Packer struct {
	objects bytes.Buffer
	count   uint32
	zlib    *zlib.Writer
}

// Count is how many objects there are.
func (p *Packer) Count() uint32 { return p.count }

// Len is where in the pack the next object begins, in bytes.
func (p *Packer) Len() int { return 12 + p.objects.Len() }

// Entry appends an object of a type with a declared size, and returns where it
// begins. What comes between the header and the content names the base of a
// delta.
func (p *Packer) Entry(kind plumbing.ObjectType, declared uint64, between, content []byte) (offset int) {
	offset = p.Len()
	b := byte(kind)<<4 | byte(declared&15)
	for declared >>= 4; declared > 0; declared >>= 7 {
		p.objects.WriteByte(b | 0x80)
		b = byte(declared & 127)
	}
	p.objects.WriteByte(b)
	p.objects.Write(between)
	if p.zlib == nil { // which takes longer to make than a small object to compress
		p.zlib = zlib.NewWriter(&p.objects)
	} else {
		p.zlib.Reset(&p.objects)
	}
	_, _ = p.zlib.Write(content)
	_ = p.zlib.Close()
	p.count++
	return offset
}

// Object appends a whole object.
func (p *Packer) Object(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	p.Entry(kind, uint64(len(content)), nil, content)
	return plumbing.ComputeHash(kind, content)
}

// Delta appends a delta of an object that is named by its ID.
func (p *Packer) Delta(base plumbing.Hash, delta []byte) {
	p.Entry(plumbing.REFDeltaObject, uint64(len(delta)), base[:], delta)
}

// The modes of entries in a folder.
const (
	File   = "100644"
	Folder = "40000"
)

// Tree makes a folder in which all names are of one object.
func (p *Packer) Tree(mode string, of plumbing.Hash, names ...string) plumbing.Hash {
	var b bytes.Buffer
	for _, name := range names {
		b.WriteString(mode + " " + name + "\x00")
		b.Write(of[:])
	}
	return p.Object(plumbing.TreeObject, b.Bytes())
}

// Files makes a folder of files with different contents, named by their numbers.
func (p *Packer) Files(blobs ...plumbing.Hash) plumbing.Hash {
	var b bytes.Buffer
	for i, blob := range blobs {
		fmt.Fprintf(&b, "%s %03d.yaml\x00", File, i)
		b.Write(blob[:])
	}
	return p.Object(plumbing.TreeObject, b.Bytes())
}

// Commit makes a commit.
func (p *Packer) Commit(tree plumbing.Hash) plumbing.Hash {
	return p.Object(plumbing.CommitObject, fmt.Appendf(nil, "tree %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nm\n", tree))
}

// Pack is all of it, with the count that it has or another.
func (p *Packer) Pack(count uint32) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	pack = append(pack, p.objects.Bytes()...)
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// Names are names of files of a length.
func Names(n, length int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%0*d.yaml", length-len(".yaml"), i)
	}
	return list
}

// Copies is a delta that makes size bytes of a base by copying its beginning.
func Copies(base, size uint64) []byte {
	delta := binary.AppendUvarint(binary.AppendUvarint(nil, base), size)
	for ; size > 0; size -= min(size, base, 1<<24-1) {
		n := min(size, base, 1<<24-1)
		delta = append(delta, 0xf0, byte(n), byte(n>>8), byte(n>>16))
	}
	return delta
}

// Handler serves one pack, whatever it is asked for, and more branches than
// main when asked to.
func Handler(head plumbing.Hash, branches int, pack []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := pktline.NewEncoder(w)
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			_ = e.EncodeString("NAK\n")
			_, _ = w.Write(pack)
			return
		}
		_ = e.EncodeString("# service=git-upload-pack\n")
		_ = e.Flush()
		_ = e.Encodef("%s HEAD\x00ofs-delta\n", head)
		_ = e.Encodef("%s refs/heads/main\n", head)
		for i := range branches {
			if e.Encodef("%s refs/heads/%0200d\n", head, i) != nil {
				return
			}
		}
		_ = e.Flush()
	})
}
