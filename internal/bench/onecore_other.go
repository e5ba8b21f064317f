//go:build !linux

package bench

import "errors"

// useOneCore returns an error, because only Linux is supported.
func useOneCore() error {
	return errors.New("hostel: this benchmark needs Linux, which can restrict a program to one core")
}
