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

// benchCommands are the commands that measure this program on this machine.
type benchCommands struct {
	Ingest   ingestBench   `cmd:"" help:"Durable changes of reservations per second, compared with a call that does nothing."`
	Latency  latencyBench  `cmd:"" help:"Time from a check-in until the lock has the code, compared with the commits and the round trip that it needs."`
	Converge convergeBench `cmd:"" help:"Time from the API's answer to a check-in or new dates until the API reports the locks as verified. There is no floor."`
	Checkin  checkInBench  `cmd:"" name:"checkin" help:"Time from a guest's last press until a page shows the PIN, compared with the commits and round trips that it needs."`
	Pages    pagesBench    `cmd:"" help:"Time of a guest's page with many guests browsing, compared with a static page."`
	Hostel   hostelBench   `cmd:"" help:"Time of a guest's page at a hostel of 60 beds on one core, with every app open and guests arriving. There is no floor."`
	Fleet    fleetBench    `cmd:"" help:"Memory of an idle bridge, and the round trip of an unlock command with all bridges connected, compared with bare gRPC streams."`
	Part     partCommand   `cmd:"" hidden:"" help:"One process of a benchmark."`
}

// Help returns what --help adds: how a benchmark runs, and the meaning of its result.
func (*benchCommands) Help() string {
	return "Each benchmark starts its own servers on loopback, in a temporary directory, and ends by itself. It measures the floor in the same run.\n\n" + figures
}

// figures is the help text that explains a benchmark's result. The help of each benchmark explains its own value, p50 and p99.
const figures = `The result, with the names that --json uses:

  value, unit           the measured value, the median of the rounds
  floor                 the same for the least possible work; 0: none
  ratio                 value divided by floor; 0: there is no floor
  p50, p99              milliseconds of one call or change
  floorP50, floorP99    the same for the floor
  rounds, cores         number of rounds; of cores, which the load shares
  checks                what, value, aim, atLeast (false: at most), met
  notes                 further numbers: what, value, unit`

// shown has the flags for how a benchmark's result is printed.
type shown struct {
	JSON bool `help:"Print one line of JSON."`
}

// print prints the result of a benchmark as text or, with --json, as JSON. If the benchmark failed, it only returns the error err.
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
	Rows    int     `placeholder:"N" help:"Measure again with N reservations stored beforehand."`
	Seconds float64 `default:"4" help:"Duration of each measurement."`
	Rounds  int     `default:"5" help:"Number of rounds; the median counts."`
	Clients int     `default:"64" help:"Number of concurrent clients."`
	Profile string  `type:"path" placeholder:"FILE" help:"Write a CPU profile of the server in the last round."`
}

// Help returns what --help adds: what the numbers of the result mean.
func (*ingestBench) Help() string {
	return `value is durable changes per second; p50 and p99 are those of a change. The floor is a call that passes the same gateway and does nothing.

` + figures
}

// Run measures how many changes of reservations per second the server stores, and prints the result.
func (c *ingestBench) Run(ctx context.Context, std *streams) error {
	l, err := launchCommand()
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
	Samples int `default:"100" help:"Check-ins per round."`
	Rounds  int `default:"3" help:"Number of rounds; the median counts."`
}

// Help returns what --help adds: what the numbers of the result mean.
func (*latencyBench) Help() string {
	return `value, p50 and p99 are milliseconds from sending the check-in until the lock has the code. The floor is a durable commit on each side and a round trip between them.

` + figures
}

// Run measures the time from a check-in until the lock has the code, and prints the result.
func (c *latencyBench) Run(ctx context.Context, std *streams) error {
	r, err := bench.Latency{Samples: c.Samples, Rounds: c.Rounds}.Run(ctx)
	return c.print(std.out, r, err)
}

type convergeBench struct {
	shown
	Stays   int           `default:"300" help:"Number of stays, each with a check-in and new dates."`
	Beside  time.Duration `default:"50ms" help:"Interval between changes of other stays at the same bridge."`
	Profile string        `default:"nuki" enum:"nuki,zwave,zwaveUser,matter" help:"Kind of the virtual locks: nuki and matter have their own schedule; for zwave and zwaveUser the bridge sets and removes the codes."`
}

// Help returns what --help adds: what the numbers of the result mean.
func (*convergeBench) Help() string {
	return `value is the p99 of the milliseconds from the answer to a change until the API reports every door as verified.

` + figures
}

// Run measures how long a check-in or a change of dates takes until the API reports that the locks have the code, and prints the result.
func (c *convergeBench) Run(ctx context.Context, std *streams) error {
	r, err := bench.Converge{Stays: c.Stays, OtherChangesEvery: c.Beside, Profile: c.Profile}.Run(ctx)
	return c.print(std.out, r, err)
}

type checkInBench struct {
	shown
	Samples int    `default:"50" help:"Check-ins per round."`
	Rounds  int    `default:"3" help:"Number of rounds; the median counts."`
	Profile string `type:"path" placeholder:"FILE" help:"Write a CPU profile of the last round, with the load."`
}

// Help returns what --help adds: what the numbers of the result mean.
func (*checkInBench) Help() string {
	return `value, p50 and p99 are milliseconds from the press until a page shows the PIN. The PMS and the locks answer at once. The floor is four durable commits and five round trips.

` + figures
}

// Run measures the time from a guest's last press in the check-in until a page shows the PIN, and prints the result.
func (c *checkInBench) Run(ctx context.Context, std *streams) error {
	r, err := bench.CheckIn{Samples: c.Samples, Rounds: c.Rounds, Profile: c.Profile}.Run(ctx)
	return c.print(std.out, r, err)
}

type pagesBench struct {
	shown
	Staff   bool          `help:"The pages of the dashboard instead, in a hotel of 1,000 rooms, 10,000 reservations and 200 bridges."`
	Guests  int           `default:"200" help:"Guests who browse at the same time."`
	Pause   time.Duration `default:"2s" help:"Time that a guest reads a page."`
	Span    time.Duration `default:"6s" help:"Duration of each round."`
	Rounds  int           `default:"3" help:"Number of rounds; the median counts."`
	Profile string        `type:"path" placeholder:"FILE" help:"Write a CPU profile of the last round, with the load."`
}

// Size of the hotel in the benchmark pages --staff, and how often a round opens each page.
const (
	staffRooms        = 1_000
	staffReservations = 10_000
	staffBridges      = 200
	staffSamples      = 100
)

// Help returns what --help adds: what the numbers of the result mean, also with --staff.
func (*pagesBench) Help() string {
	return `value is the p99 of the milliseconds of a page, from the request until its last byte; p50 and p99 are those of all rounds. The floor is a static page of the same size that the same guests open in turn.

With --staff, value is the p99 of the slowest page of the dashboard. The mails to all guests are sent first, which takes two minutes. One person opens each page 100 times per round, with at most 200 rows in a list. Then the PMS sends 200 changes a second for twice the span while a page is live.

` + figures
}

// Run measures how fast the pages of many guests are or, with --staff, those of the dashboard, and prints the result.
func (c *pagesBench) Run(ctx context.Context, std *streams) error {
	if c.Staff {
		r, err := bench.StaffPages{
			Rooms: staffRooms, Reservations: staffReservations, Bridges: staffBridges, Samples: staffSamples, Span: 2 * c.Span, Rounds: c.Rounds, Profile: c.Profile,
		}.Run(ctx)
		return c.print(std.out, r, err)
	}
	r, err := bench.Pages{Guests: c.Guests, Pause: c.Pause, Span: c.Span, Rounds: c.Rounds, Profile: c.Profile}.Run(ctx)
	return c.print(std.out, r, err)
}

type hostelBench struct {
	shown
	Arrivals int           `default:"40" help:"Guests who check in during the run, at most 60. The other guests have checked in before."`
	Span     time.Duration `default:"2m" help:"Duration of the run, over which arrivals are spread."`
	Pause    time.Duration `default:"5s" help:"Time that a guest reads a page."`
	Write    time.Duration `default:"1m30s" help:"Time between two messages of a guest, at least a minute. The front desk answers each."`
	Profile  string        `type:"path" placeholder:"FILE" help:"Write a CPU profile of the server, with the PMS and the locks."`
}

// Help returns what --help adds: what the numbers of the result mean, and how the machine is shared.
func (*hostelBench) Help() string {
	return `value, p50 and p99 are milliseconds of a page, from the request until its last byte. The server, the PMS, the bridge and the locks run on one core with 1 GB of memory; the guests and the front desk use the other cores. Guests and staff write messages; streams of messages are cut and resumed every 17 seconds. Linux only.

` + figures
}

// Run measures how fast guests' pages are at a busy hostel whose server has one core, and prints the result.
func (c *hostelBench) Run(ctx context.Context, std *streams) error {
	l, err := launchCommand()
	if err != nil {
		return err
	}
	r, err := bench.Hostel{Arrivals: c.Arrivals, Span: c.Span, Pause: c.Pause, Write: c.Write, Profile: c.Profile}.Run(ctx, l)
	return c.print(std.out, r, err)
}

type fleetBench struct {
	shown
	Bridges  int `default:"2000" help:"Number of bridges. Ignored with --growth, which uses 1,000 and 5,000."`
	Commands int `name:"acts" default:"500" help:"Unlock commands per round."`
	Rounds   int `default:"5" help:"Number of rounds; the median counts."`

	Restart bool          `xor:"what" help:"Kill the server while all bridges are connected and start it again. Measure when the bridges are back and how the API answers meanwhile. There is no floor."`
	Away    time.Duration `default:"30s" help:"With --restart: how long the server is down."`
	Profile string        `type:"path" placeholder:"FILE" help:"With --restart: write a CPU profile of the server while the bridges reconnect."`
	Drain   bool          `xor:"what" help:"Stop one of two servers during unlock commands. Measure whether any command fails, and when the server has ended. Needs PostgreSQL's programs. There is no floor."`
	Unlocks int           `default:"50" help:"With --drain: unlock commands per second."`
	Growth  bool          `xor:"what" help:"Compare the cost of one bridge among 1,000 and among 5,000. There is no floor."`
}

// Help returns what --help adds: what the numbers of the result mean in each variant.
func (*fleetBench) Help() string {
	return `value is the server's memory for an idle bridge in kB. p50 and p99 are those of an unlock command; p99 is the median of the rounds' p99. The floor is a bare gRPC server with as many streams.

  --restart    value is seconds until the last bridge is back; p50 and p99
               are those of API calls meanwhile
  --drain      value is seconds until the server has ended; p50 and p99 are
               those of the unlock commands meanwhile
  --growth     value is the memory per bridge among 5,000; p50 and p99 are
               those of an unlock command

` + figures
}

// Run measures the server with many bridges, in the variant that the flags select, and prints the result.
func (c *fleetBench) Run(ctx context.Context, std *streams) error {
	l, err := launchCommand()
	if err != nil {
		return err
	}
	r, err := c.runSelected(ctx, l)
	return c.print(std.out, r, err)
}

// runSelected runs the benchmark that the flags select: restart, drain, growth, or the plain fleet. l starts its processes.
func (c *fleetBench) runSelected(ctx context.Context, l bench.Launch) (*bench.Result, error) {
	switch {
	case c.Restart:
		return bench.Restart{Bridges: c.Bridges, Downtime: c.Away, Profile: c.Profile}.Run(ctx, l)
	case c.Drain:
		return bench.Drain{Bridges: c.Bridges, Unlocks: c.Unlocks}.Run(ctx, l)
	case c.Growth:
		return bench.Growth{Few: 1000, Many: 5000, Commands: c.Commands}.Run(ctx, l)
	}
	return bench.Fleet{Bridges: c.Bridges, Commands: c.Commands, Rounds: c.Rounds}.Run(ctx, l)
}

// launchCommand returns the command line with which a benchmark starts this program as one of its processes.
func launchCommand() (bench.Launch, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	return bench.Launch{self, "bench", "part"}, nil
}

// partCommand is the hidden command that runs as a process of a benchmark.
type partCommand struct {
	Role string `arg:""`
}

// Run serves a benchmark's calls on standard input and output until input ends. Role is what this process runs, such as a server.
func (c *partCommand) Run(std *streams) error {
	out, ok := std.raw.(io.WriteCloser)
	if !ok {
		return fmt.Errorf("a part of a benchmark needs a pipe to write to")
	}
	return bench.RunPart(c.Role, std.in, out)
}
