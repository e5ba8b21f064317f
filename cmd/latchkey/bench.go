package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"latchkey.dev/internal/bench"
)

// benchCommands measure this very program on this machine.
type benchCommands struct {
	Ingest   ingestBench   `cmd:"" help:"Durable changes of reservations a second, against a call that does nothing."`
	Latency  latencyBench  `cmd:"" help:"From a check-in until the lock holds the code, against the commits and the round trip it takes."`
	Converge convergeBench `cmd:"" help:"From the API's answer to a check-in or new dates until the API says the locks are verified. There is no floor."`
	Fleet    fleetBench    `cmd:"" help:"Memory of an idle bridge, and the round trip of an act with all connected, against bare gRPC streams."`
	Part     partCommand   `cmd:"" hidden:"" help:"One process of a benchmark."`
}

// Help is shown below the flags' own.
func (*benchCommands) Help() string {
	return "Each starts servers of its own on loopback, in a temporary directory, and ends by itself. The floor is measured in the same run.\n\n" + figures
}

// figures explains the result; what value, p50 and p99 are of, each benchmark's own help says.
const figures = `What is shown, under these names with --json:

  value, unit           what the benchmark is about, the median of its rounds
  floor                 the same of the least that this machine can do it with; 0: there is none
  ratio                 value to floor; 0 without one
  p50, p99              milliseconds of one call or change
  floorP50, floorP99    the same of the floor
  rounds, cores         how many rounds; the cores, which the load has to share
  checks                what, value, aim, atLeast (else at most), met
  notes                 further numbers: what, value, unit`

// shown is how a benchmark's result is printed.
type shown struct {
	JSON bool `help:"Print one line of JSON."`
}

func (s shown) print(out io.Writer, r *bench.Result, err error) error {
	if err != nil {
		return err
	}
	if s.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	r.Write(out)
	return nil
}

type ingestBench struct {
	shown
	GRPC    bool    `name:"grpc" help:"Over gRPC instead of REST."`
	Rows    int     `placeholder:"N" help:"Measure also with N reservations stored before."`
	Seconds float64 `default:"4" help:"How long each measurement takes."`
	Rounds  int     `default:"5" help:"How many rounds; the median counts."`
	Clients int     `default:"64" help:"Clients that send at once."`
	Profile string  `type:"path" placeholder:"FILE" help:"Write a CPU profile of the server in the last round."`
}

// Help is shown below the flags' own.
func (*ingestBench) Help() string {
	return `value is durable changes a second, p50 and p99 are of a change. The floor is a call that passes the same gateway and does nothing.

` + figures
}

// Run measures.
func (c *ingestBench) Run(ctx context.Context, std *streams) error {
	l, err := launch()
	if err != nil {
		return err
	}
	r, err := bench.Ingest{
		GRPC: c.GRPC, Rows: c.Rows, Span: time.Duration(c.Seconds * float64(time.Second)), Rounds: c.Rounds, Clients: c.Clients, Profile: c.Profile,
	}.Run(ctx, l)
	return c.print(std.out, r, err)
}

type latencyBench struct {
	shown
	Samples int `default:"100" help:"Check-ins of each round."`
	Rounds  int `default:"3" help:"How many rounds; the median counts."`
}

// Help is shown below the flags' own.
func (*latencyBench) Help() string {
	return `value is milliseconds from sending the check-in until the lock holds the code, and so are p50 and p99. The floor is a durable commit of each side and a round trip between them.

` + figures
}

// Run measures.
func (c *latencyBench) Run(ctx context.Context, std *streams) error {
	r, err := bench.Latency{Samples: c.Samples, Rounds: c.Rounds}.Run(ctx)
	return c.print(std.out, r, err)
}

type convergeBench struct {
	shown
	Stays   int           `default:"300" help:"Stays to follow, each through a check-in and new dates."`
	Beside  time.Duration `default:"50ms" help:"A change of another stay at the same bridge each so long."`
	Profile string        `default:"nuki" enum:"nuki,zwave,zwaveUser,matter" help:"What kind of lock the virtual ones are: nuki and matter keep a code's window themselves, zwave and zwaveUser leave it to the bridge."`
}

// Help is shown below the flags' own.
func (*convergeBench) Help() string {
	return `value is p99, the milliseconds from the answer to a change until the API says that every door is verified.

` + figures
}

// Run measures.
func (c *convergeBench) Run(ctx context.Context, std *streams) error {
	r, err := bench.Converge{Stays: c.Stays, Beside: c.Beside, Profile: c.Profile}.Run(ctx)
	return c.print(std.out, r, err)
}

type fleetBench struct {
	shown
	Bridges int `default:"2000" help:"Bridges to connect; with --growth 1,000 and 5,000, whatever is said here."`
	Acts    int `default:"500" help:"Acts of each round."`
	Rounds  int `default:"5" help:"How many rounds; the median counts."`

	Restart bool          `xor:"what" help:"Kill the server under all bridges, start it again, and see when they are back and how the API answers meanwhile. There is no floor."`
	Away    time.Duration `default:"30s" help:"With --restart: how long nobody serves."`
	Profile string        `type:"path" placeholder:"FILE" help:"With --restart: write a CPU profile of the server while the bridges return."`
	Drain   bool          `xor:"what" help:"Tell one of two servers to stop while doors are opened, and see whether any is not, and when it has ended. Needs PostgreSQL's programs. There is no floor."`
	Unlocks int           `default:"50" help:"With --drain: unlocks a second."`
	Growth  bool          `xor:"what" help:"See what each bridge costs among 1,000 and among 5,000. There is no floor."`
}

// Help is shown below the flags' own.
func (*fleetBench) Help() string {
	return `value is the server's memory for an idle bridge in kB, p50 and p99 are of an act, p99 the median of the rounds' own. The floor is a bare gRPC server with as many streams.

  --restart    value is seconds until the last bridge is back, p50 and p99 are of calls of the API meanwhile
  --drain      value is seconds until the server has ended, p50 and p99 are of the unlocks meanwhile
  --growth     value is the memory among many, p50 and p99 are of an act among many

` + figures
}

// Run measures.
func (c *fleetBench) Run(ctx context.Context, std *streams) error {
	l, err := launch()
	if err != nil {
		return err
	}
	r, err := c.measure(ctx, l)
	return c.print(std.out, r, err)
}

func (c *fleetBench) measure(ctx context.Context, l bench.Launch) (*bench.Result, error) {
	switch {
	case c.Restart:
		return bench.Restart{Bridges: c.Bridges, Away: c.Away, Profile: c.Profile}.Run(ctx, l)
	case c.Drain:
		return bench.Drain{Bridges: c.Bridges, Unlocks: c.Unlocks}.Run(ctx, l)
	case c.Growth:
		return bench.Growth{Few: 1000, Many: 5000, Acts: c.Acts}.Run(ctx, l)
	}
	return bench.Fleet{Bridges: c.Bridges, Acts: c.Acts, Rounds: c.Rounds}.Run(ctx, l)
}

// launch is the command line of the parts of a benchmark.
func launch() (bench.Launch, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it again: %w", err)
	}
	return bench.Launch{self, "bench", "part"}, nil
}

// partCommand is started by the other commands.
type partCommand struct {
	Role string `arg:""`
}

// Run serves until standard input ends.
func (c *partCommand) Run(std *streams) error {
	out, ok := std.raw.(io.WriteCloser)
	if !ok {
		return fmt.Errorf("a part of a benchmark needs a pipe to write to")
	}
	return bench.RunPart(c.Role, std.in, out)
}
