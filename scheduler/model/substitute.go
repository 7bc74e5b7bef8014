package model

import (
	"context"
	"fmt"
)

// Option changes how LoadEnvironment reads.
type Option func(*loader)

// substitution says what is read instead of what an object refers to.
type substitution func(ctx context.Context, kind, name string, ref Reference) (Reference, error)

// Substitute lets somebody else than the platform model decide where a
// BaseRepo's and a WorkloadRegistration's content is read: f gets the object's
// kind and name with what it refers to, and returns what is read instead. It
// is called once for every such object, one after the other; an error ends
// LoadEnvironment.
//
// The objects themselves, and so what the environment says about them, do not
// change. Positions name the place where things were read.
func Substitute(f func(ctx context.Context, kind, name string, ref Reference) (Reference, error)) Option {
	return func(l *loader) { l.substitute = f }
}

// instead returns what is read for a reference of an object.
func (l *loader) instead(ctx context.Context, kind, name string, ref Reference) (Reference, error) {
	if l.substitute == nil {
		return ref, nil
	}
	instead, err := l.substitute(ctx, kind, name, ref)
	if err != nil {
		return Reference{}, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return instead, nil
}
