package slot

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
)

// verdict is what exploring came to: how many worlds there are, and which property one of them
// breaks after which events.
type verdict struct {
	states int
	broken int // 0: none
	how    string
	trace  []string
}

// node is a world that was reached. After its expansion the content is freed, and a hash of 128 bits
// identifies the world.
type node struct {
	w     *world
	from  int32
	label string
	good  bool
	back  []int32
}

type explorer struct {
	*scenario
	to    world // scratch
	found verdict
	seeds [2]maphash.Seed
	buf   []byte
	nodes []node
	index map[[16]byte]int32
}

// The hottest functions around the steps are not watched by the race detector, which takes a third of the time there: a world is
// its explorer's alone. The steps themselves are watched.

// explore visits every reachable world, breadth first, so that the first counter-example is a
// shortest one, and then looks for worlds from which nothing but a fault leads to convergence.
func (c *scenario) explore(most int) verdict {
	x := explorer{scenario: c, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, index: map[[16]byte]int32{}}
	for _, w := range c.first() {
		x.reach(&w, -1, "start")
	}
	for i := 0; i < len(x.nodes); i++ {
		if x.expand(int32(i)); x.found.broken != 0 {
			x.found.states = len(x.nodes)
			return x.found
		}
		if len(x.nodes) > most {
			return verdict{len(x.nodes), -1, fmt.Sprintf("more than %d states", most), nil}
		}
	}
	if stuck := x.stuck(); stuck >= 0 && !c.ignores(10) {
		return verdict{len(x.nodes), 10, "no way to convergence without a fault", x.trace(stuck)}
	}
	return verdict{states: len(x.nodes)}
}

// expand reaches every world that is one transition away.
//
//go:norace
func (x *explorer) expand(i int32) {
	w := x.nodes[i].w
	x.nodes[i].w = nil
	x.edges(*w, func(to world, label string, fault bool) {
		if x.found.broken != 0 {
			return
		}
		x.to = to
		x.to.calm = to.calm && !fault
		if number, how := x.wrong(&x.to); number != 0 {
			x.found = verdict{broken: number, how: how, trace: append(x.trace(i), label)}
			return
		}
		j := x.reach(&x.to, i, label)
		if !fault {
			x.nodes[j].back = append(x.nodes[j].back, i)
		}
	})
}

// reach finds the node of a world, or makes one of a copy.
//
//go:norace
func (x *explorer) reach(w *world, from int32, label string) int32 {
	x.buf = w.key(x.buf[:0], x.slots)
	var h [16]byte
	binary.LittleEndian.PutUint64(h[:8], maphash.Bytes(x.seeds[0], x.buf))
	binary.LittleEndian.PutUint64(h[8:], maphash.Bytes(x.seeds[1], x.buf))
	j, known := x.index[h]
	if !known {
		j = int32(len(x.nodes))
		x.index[h] = j
		x.nodes = append(x.nodes, node{w: new(*w), from: from, label: label, good: x.settled(w)})
	}
	return j
}

func (x *explorer) trace(i int32) []string {
	var out []string
	for ; i >= 0 && x.nodes[i].from >= 0; i = x.nodes[i].from {
		out = append(out, x.nodes[i].label)
	}
	slices.Reverse(out)
	return out
}

// stuck walks back from the settled worlds over transitions that are no faults, and returns the
// first world that it does not come to, or -1.
func (x *explorer) stuck() int32 {
	var queue []int32
	for i := range x.nodes {
		if x.nodes[i].good {
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, p := range x.nodes[queue[0]].back {
			if !x.nodes[p].good {
				x.nodes[p].good = true
				queue = append(queue, p)
			}
		}
	}
	return int32(slices.IndexFunc(x.nodes, func(n node) bool { return !n.good }))
}
