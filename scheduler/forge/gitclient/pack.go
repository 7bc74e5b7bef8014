package gitclient

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/kalypso-dev/kalypso/scheduler/model"
)

// pack is what a server has sent, as it came: compressed, with an index of what
// is in it. An object is inflated when it is asked for, and a delta when what
// it is based on is. go-git has a parser that would do, but it inflates all that
// there is, and takes the sizes that a server declares for room to make.
type pack struct {
	ctx     context.Context
	budget  *budget
	scanner *packfile.Scanner
	objects []packed
	byHash  map[plumbing.Hash]int32
	waiting map[plumbing.Hash][]int32 // deltas by what they are based on, while that is not known
	work    int64                     // bytes inflated and made of deltas so far
	skipped bool                      // some object was too large to be looked into
}

// packed is an object in a pack. Deltas of one base are a linked list.
type packed struct {
	hash        plumbing.Hash // of a delta only when it was resolved
	kind        plumbing.ObjectType
	child, next int32 // -1 for none
	offset      int64
	size        int64 // inflated; of a delta its own
}

const none = int32(-1)

// errMalformed is about a pack that no git makes.
var errMalformed = errors.New("the server sends a malformed pack")

// openPack indexes a pack. Every object is inflated once, for its ID and to find
// where it ends, and not kept.
func openPack(ctx context.Context, b *budget, compressed io.ReadSeeker) (*pack, error) {
	p := &pack{
		ctx: ctx, budget: b, scanner: packfile.NewScanner(compressed),
		byHash: map[plumbing.Hash]int32{}, waiting: map[plumbing.Hash][]int32{},
	}
	_, count, err := p.scanner.Header()
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if count > maxObjects {
		return nil, &model.LimitError{What: "objects", Max: maxObjects, Hint: smaller}
	}
	for range count {
		if err := p.index(); err != nil {
			return nil, err
		}
	}
	if _, err := p.scanner.Checksum(); err != nil {
		return nil, err
	}
	for hash, deltas := range p.waiting {
		if i, ok := p.byHash[hash]; ok {
			p.attach(i, deltas)
			delete(p.waiting, hash)
		}
	}
	return p, nil
}

// index reads the next object.
func (p *pack) index() error {
	// the maps take about twice what their keys and values do
	if err := p.budget.take(p.ctx, int64(unsafe.Sizeof(packed{}))+2*int64(unsafe.Sizeof(plumbing.Hash{}))+8); err != nil {
		return err
	}
	header, err := p.scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if err := p.spend(header.Length); err != nil {
		return err
	}
	i := int32(len(p.objects))
	o := packed{kind: header.Type, child: none, next: none, offset: header.Offset, size: header.Length}
	content := io.Discard
	var hasher plumbing.Hasher
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		hasher = plumbing.NewHasher(header.Type, header.Length)
		content = hasher
	case plumbing.OFSDeltaObject:
		base, ok := slices.BinarySearchFunc(p.objects, header.OffsetReference, func(o packed, at int64) int { return int(o.offset - at) })
		if !ok {
			return fmt.Errorf("%w: a delta of nothing", errMalformed)
		}
		o.next, p.objects[base].child = p.objects[base].child, i
	case plumbing.REFDeltaObject:
		p.waiting[header.Reference] = append(p.waiting[header.Reference], i)
	default:
		return fmt.Errorf("%w: an object of type %d", errMalformed, header.Type)
	}
	n, _, err := p.scanner.NextObject(content)
	if err != nil {
		return err
	}
	if n != header.Length {
		return fmt.Errorf("%w: an object has %d bytes and declares %d", errMalformed, n, header.Length)
	}
	p.objects = append(p.objects, o)
	if content != io.Discard {
		p.setHash(i, hasher.Sum())
	}
	return nil
}

// spend counts bytes that are inflated, or copied to apply a delta.
func (p *pack) spend(bytes int64) error {
	if bytes < 0 || bytes > maxInflated-p.work {
		return &model.LimitError{What: "bytes in all its objects", Max: maxInflated, Hint: smaller}
	}
	p.work += bytes
	return p.ctx.Err()
}

// setHash notes an object's ID.
func (p *pack) setHash(i int32, hash plumbing.Hash) {
	p.objects[i].hash = hash
	if _, twice := p.byHash[hash]; !twice {
		p.byHash[hash] = i
	}
}

// attach puts deltas below what they are based on.
func (p *pack) attach(base int32, deltas []int32) {
	for _, i := range deltas {
		p.objects[i].next, p.objects[base].child = p.objects[base].child, i
	}
}

// inflate returns an object, or a delta as it is. Its size is what the index
// has found to be true.
func (p *pack) inflate(i int32) ([]byte, error) {
	o := &p.objects[i]
	if err := p.spend(o.size); err != nil {
		return nil, err
	}
	if err := p.budget.take(p.ctx, o.size); err != nil {
		return nil, err
	}
	if _, err := p.scanner.SeekObjectHeader(o.offset); err != nil {
		return nil, err
	}
	content := bytes.NewBuffer(make([]byte, 0, o.size))
	if _, _, err := p.scanner.NextObject(content); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// visitor is called with an object. Its content is made when it is asked for, and
// valid until the visitor returns, unless the visitor returns that it takes it over.
type visitor func(hash plumbing.Hash, size int64, content func() ([]byte, error)) (takesOver bool, err error)

// each visits the objects of a kind, and those that are deltas of them.
func (p *pack) each(kind plumbing.ObjectType, visit visitor) error {
	for i := range p.objects {
		if p.objects[i].kind != kind {
			continue
		}
		if err := p.visitDeltas(int32(i), visit); err != nil {
			return err
		}
	}
	return nil
}

// link is an object whose deltas are being resolved.
type link struct {
	content []byte
	child   int32 // the next to resolve
}

// visitDeltas visits an object and all that are deltas of it. Contents are held
// while there are deltas left to apply to them.
func (p *pack) visitDeltas(root int32, visit visitor) error {
	o := &p.objects[root]
	if o.size > maxObject {
		p.skipped = true
		_, err := visit(o.hash, o.size, func() ([]byte, error) { return nil, errTooLarge })
		return err
	}
	var content []byte
	inflate := func() (_ []byte, err error) {
		if content == nil {
			content, err = p.inflate(root)
		}
		return content, err
	}
	if o.child != none {
		if _, err := inflate(); err != nil {
			return err
		}
	}
	taken, err := visit(o.hash, o.size, inflate)
	if err != nil {
		return err
	}
	if o.child == none {
		if content != nil && !taken {
			p.budget.give(o.size)
		}
		return nil
	}
	kind := o.kind
	path := []link{{content, o.child}}
	if taken {
		// it stays counted once, as what was taken over
		if err := p.budget.take(p.ctx, o.size); err != nil {
			return err
		}
	}
	for len(path) > 0 {
		last := &path[len(path)-1]
		base, i := last.content, last.child
		last.child = p.objects[i].next
		exhausted := last.child == none
		if exhausted {
			path = path[:len(path)-1]
		}
		content, err := p.apply(i, base)
		if err != nil {
			return err
		}
		if exhausted {
			p.budget.give(int64(len(base)))
		}
		if content == nil {
			p.skipped = true
			continue
		}
		hash := plumbing.ComputeHash(kind, content)
		p.setHash(i, hash)
		if deltas, ok := p.waiting[hash]; ok {
			p.attach(i, deltas)
			delete(p.waiting, hash)
		}
		taken, err := visit(hash, int64(len(content)), func() ([]byte, error) { return content, nil })
		if err != nil {
			return err
		}
		child := p.objects[i].child
		if child != none {
			path = append(path, link{content, child})
		}
		switch {
		case taken && child != none:
			if err := p.budget.take(p.ctx, int64(len(content))); err != nil {
				return err
			}
		case !taken && child == none:
			p.budget.give(int64(len(content)))
		}
	}
	return nil
}

// errTooLarge is about an object that is never held in memory.
var errTooLarge = errors.New("the object is too large")

// apply returns what a delta makes of its base, nil when that is too large.
func (p *pack) apply(i int32, base []byte) ([]byte, error) {
	if p.objects[i].size > maxObject {
		return nil, nil
	}
	delta, err := p.inflate(i)
	if err != nil {
		return nil, err
	}
	defer p.budget.give(p.objects[i].size)
	size, err := resultSize(delta)
	if err != nil {
		return nil, err
	}
	if size > maxObject {
		return nil, nil
	}
	if err := p.spend(size); err != nil {
		return nil, err
	}
	// while it grows, the buffer takes up to three times its content
	if err := p.budget.take(p.ctx, 3*size); err != nil {
		return nil, err
	}
	content, err := packfile.PatchDelta(base, delta)
	if err != nil {
		return nil, err
	}
	if content == nil {
		content = []byte{}
	}
	p.budget.give(2 * size)
	return content, nil
}

// resultSize is the size that a delta declares for what it makes, which applying
// it never exceeds: its second number, after the size of the base.
func resultSize(delta []byte) (int64, error) {
	_, n := binary.Uvarint(delta)
	if n > 0 {
		if size, m := binary.Uvarint(delta[n:]); m > 0 && int64(size) >= 0 {
			return int64(size), nil
		}
	}
	return 0, fmt.Errorf("%w: a delta without sizes", errMalformed)
}

// spool holds what was received in pieces, so that it never has to be moved to
// grow.
type spool struct {
	pieces [][]byte
	size   int64
	at     int64
}

const pieceBytes = 64 << 10

// ReadFrom implements io.ReaderFrom.
func (s *spool) ReadFrom(r io.Reader) (n int64, err error) {
	for {
		if len(s.pieces) == 0 || len(s.pieces[len(s.pieces)-1]) == pieceBytes {
			s.pieces = append(s.pieces, make([]byte, 0, pieceBytes))
		}
		last := &s.pieces[len(s.pieces)-1]
		m, err := r.Read((*last)[len(*last):pieceBytes])
		*last = (*last)[:len(*last)+m]
		n += int64(m)
		s.size += int64(m)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// Read implements io.Reader.
func (s *spool) Read(p []byte) (int, error) {
	if s.at >= s.size {
		return 0, io.EOF
	}
	n := copy(p, s.pieces[s.at/pieceBytes][s.at%pieceBytes:])
	s.at += int64(n)
	return n, nil
}

// Seek implements io.Seeker as far as go-git's scanner needs it: not from the
// end.
func (s *spool) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekCurrent {
		offset += s.at
	}
	if whence == io.SeekEnd || offset < 0 {
		return 0, errors.New("seeking where nothing is")
	}
	s.at = offset
	return offset, nil
}
