package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/text"
)

// exit is a panic value that ends the parsing of a command line, for example after --help. It is the exit code.
type exit int

// start runs one command line and returns the exit code: 0; 1 if the command failed; 2 if the command line is wrong. It writes the error to
// errs: as text with advice or, with --json, as one line of JSON.
func start(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (code int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exit:
			code = int(e)
		default:
			panic(e)
		}
	}()
	// Partners and bridges choose names. Escaping keeps control characters in names from affecting the terminal.
	raw := out
	out, errs = text.Terminal(out), text.Terminal(errs)
	var c commands
	var file settingsFile
	parser, err := kong.New(&c, kong.Name("latchkey"), kong.Description(description), kong.Vars{"version": version, "data_dir": config.Default().DataDir},
		kong.Writers(out, errs), kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Help(printHelp), groups,
		kong.ValueFormatter(describe), durations, ranges, texts, kong.PostBuild(environment), kong.Configuration(file.read))
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
		err = refuseEmptyLists(chosen)
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
		printWarnings(errs, unknownVariableWarnings(os.Environ(), knownVariables(parser.Model.Node)))
	}
	chosen.BindTo(ctx, (*context.Context)(nil))
	if err := chosen.Run(&streams{in: in, out: out, errs: errs, raw: raw, width: widthOf(raw)}); err != nil {
		if wantsJSON(chosen) {
			writeEnvelope(errs, err)
		} else {
			text := explain(err, namingOf(chosen.Selected()))
			fmt.Fprintln(errs, "latchkey:", text+file.origins(text, args))
		}
		if errors.As(err, new(usageError)) {
			return 2
		}
		return 1
	}
	return 0
}

// usageError is the error of a command whose command line is wrong in a way that only the command itself notices. The exit code is then 2.
type usageError struct{ error }

var version = buildVersion(debug.ReadBuildInfo())

// buildVersion returns the version to show: that of the module, otherwise the revision and its time, otherwise dev. ok is whether the
// program has build information.
func buildVersion(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "dev"
	}
	parts := []string{revision[:min(len(revision), 12)]}
	if at := settings["vcs.time"]; at != "" {
		parts = append(parts, at)
	}
	if settings["vcs.modified"] == "true" {
		parts = append(parts, "modified")
	}
	return strings.Join(parts, " ")
}
