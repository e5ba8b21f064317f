//go:build race

package program

// checked builds the programs with the race detector, as the tests that run them: nothing is then compiled twice.
const checked = true
