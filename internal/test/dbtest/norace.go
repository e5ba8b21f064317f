//go:build !race

package dbtest

// raceSlowdown is the factor by which the race detector slows a program down.
const raceSlowdown = 1
