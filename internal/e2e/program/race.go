//go:build race

package program

// checked makes build use the race detector if the tests use it, so that packages are not compiled twice.
const checked = true
