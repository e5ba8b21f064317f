//go:build race

package dbtest

// raceSlowdown is the factor by which the race detector slows down a program.
const raceSlowdown = 10
