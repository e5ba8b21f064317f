package db

import "context"

type fenceKey struct{}

// Fenced returns a context whose changes first run check, in their own transaction, and store nothing if it fails. It
// protects work that only one process may do: another process may have taken over the lease while this one hung.
func Fenced(ctx context.Context, check func(tx *Tx) error) context.Context {
	return context.WithValue(ctx, fenceKey{}, check)
}

// withFence returns fn preceded by the check of ctx, if there is one.
func withFence(ctx context.Context, fn func(tx *Tx) error) func(tx *Tx) error {
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
