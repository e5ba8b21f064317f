// Command latchkey is the server and its command line.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	// Time zones of properties must be known on machines without a zone database.
	_ "time/tzdata"

	"github.com/alecthomas/kong"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/text"
)

func main() {
	os.Exit(start(untilSignalled(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignalled ends with the first signal. The second ends the process: from before anybody can tell that the first was
// heard, so that none is lost in between. A terminal that closes tells once or twice, and means one stop.
func untilSignalled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	told, closed := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	// Under nohup it means nothing.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(closed, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-told:
		case <-closed:
		}
		signal.Stop(told)
		cancel()
	}()
	return ctx
}

// exit ends the parsing of a command line, as --help does.
type exit int

// start runs one command line and returns the exit code: 0, 1 if the command failed, 2 if the
// command line itself is wrong.
func start(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (code int) {
	defer func() {
		if e, ok := recover().(exit); ok {
			code = int(e)
		}
	}()
	// Names come from partners and bridges: none of them controls the terminal.
	raw := out
	out, errs = text.Terminal(out), text.Terminal(errs)
	var c commands
	var file settingsFile
	parser, err := kong.New(&c, kong.Name("latchkey"), kong.Description(description), kong.Vars{"version": version, "data_dir": config.Default().DataDir},
		kong.Writers(out, errs), kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Help(printHelp), groups,
		kong.ValueFormatter(describe), durations, kong.PostBuild(environment), kong.Configuration(file.read))
	if err != nil {
		fmt.Fprintln(errs, "latchkey:", err)
		return 2
	}
	for _, f := range settingsOf(parser.Model.Node) {
		file.known = append(file.known, f.Name)
	}
	args = flagsLast(args)
	chosen, err := parser.Parse(args)
	if err == nil {
		err = filled(chosen)
	}
	if err != nil && slices.Contains(args, "--json") {
		writeEnvelope(errs, err)
		return 2
	}
	if err != nil {
		fmt.Fprintf(errs, "latchkey: %v%s\nTry: latchkey %s--help\n", err, file.origins(err.Error(), args), commandOf(err))
		return 2
	}
	if !wantsJSON(chosen) {
		warn(errs, unknownVariables(os.Environ(), knownVariables(parser.Model.Node)))
	}
	chosen.BindTo(ctx, (*context.Context)(nil))
	if err := chosen.Run(&streams{in: in, out: out, errs: errs, raw: raw, width: widthOf(raw)}); err != nil {
		if wantsJSON(chosen) {
			writeEnvelope(errs, err)
		} else {
			text := explain(err, namingOf(chosen.Selected()))
			fmt.Fprintln(errs, "latchkey:", text+file.origins(text, args))
		}
		return 1
	}
	return 0
}
