//go:build !race

package dbtest

// slower is how much slower the race detector makes a program.
const slower = 1
