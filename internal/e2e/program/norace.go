//go:build !race

package program

const checked = false
