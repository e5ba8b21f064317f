//go:build !race

package program

// checked is false: the programs are built without the race detector, as the tests are.
const checked = false
