//go:build !race

package dbtest

// slower is the factor by which the race detector slows a program down.
const slower = 1
