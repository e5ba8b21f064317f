package db

import "context"

type fenceKey struct{}

// Fenced is a context whose changes first run check, in their own transaction, and store nothing if it fails. It is for
// work that one process alone may do: a process that hung may hold a right that another has taken over meanwhile.
func Fenced(ctx context.Context, check func(tx *Tx) error) context.Context {
	return context.WithValue(ctx, fenceKey{}, check)
}

// fenced is fn behind the fence of ctx, if there is one.
func fenced(ctx context.Context, fn func(tx *Tx) error) func(tx *Tx) error {
	check, ok := ctx.Value(fenceKey{}).(func(tx *Tx) error)
	if !ok {
		return fn
	}
	return func(tx *Tx) error {
		if err := check(tx); err != nil {
			return err
		}
		return fn(tx)
	}
}
