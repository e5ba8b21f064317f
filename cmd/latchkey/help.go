package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCommand prints the same as --help for a command. For the topic "connection" it prints how commands reach a server, with the
// connection flags that --help leaves out.
type helpCommand struct {
	Topic []string `arg:"" optional:"" help:"A command, or \"connection\": how commands reach a server."`
}

// Run prints the help of a command, or how commands reach a server. It fails if there is no such command.
func (c *helpCommand) Run(ctx context.Context, k *kong.Kong, io *streams) error {
	if len(c.Topic) == 1 && c.Topic[0] == "connection" {
		connectionHelp(k, io)
		return nil
	}
	if start(ctx, append(c.Topic, "--help"), io.in, io.raw, io.errs) != 0 {
		return usageError{fmt.Errorf("there is no command %s; latchkey --help lists the commands", strings.Join(c.Topic, " "))}
	}
	return nil
}

// alwaysShownFlags are the connection flags that the help of a command lists. Only latchkey help connection lists the others.
var alwaysShownFlags = []string{"property", "json"}

// connectionFlags returns the flags of a command that are in the group connection: those that it has by embedding remote. A command that
// calls no server has none.
func connectionFlags(n *kong.Node) (flags []*kong.Flag) {
	for _, list := range n.AllFlags(false) {
		for _, f := range list {
			if f.Group != nil && f.Group.Key == "connection" {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

// printHelp prints the help of a command, as kong does, but hides the connection flags that are rarely needed. It then refers to latchkey
// help connection, which explains them.
func printHelp(options kong.HelpOptions, c *kong.Context) error {
	selected := c.Selected()
	if selected == nil {
		return kong.DefaultHelpPrinter(options, c)
	}
	hidden := false
	for _, f := range connectionFlags(selected) {
		if f.Hidden || slices.Contains(alwaysShownFlags, f.Name) {
			continue
		}
		f.Hidden, hidden = true, true
		defer func() { f.Hidden = false }()
	}
	// kong writes the aliases of a command in parentheses into the usage line. Users type that line, so it has no aliases.
	for n := selected; n != nil; n = n.Parent {
		aliases := n.Aliases
		n.Aliases = nil
		defer func() { n.Aliases = aliases }()
	}
	var page bytes.Buffer
	to := c.Stdout
	c.Stdout = &page
	err := kong.DefaultHelpPrinter(options, c)
	c.Stdout = to
	usage, rest, _ := strings.Cut(page.String(), "\n")
	if !strings.Contains(usage, "[flags]") && hasOptionalFlag(selected) {
		usage += " [flags]" // kong does not see the flags of the command's grandparent
	}
	fmt.Fprint(to, usage+"\n"+rest)
	if hidden {
		fmt.Fprintln(c.Stdout, "\nFlags that name the server and the token: latchkey help connection")
	}
	return err
}

// hasOptionalFlag reports whether a command has a flag other than --help that may be left out, also a hidden one.
func hasOptionalFlag(n *kong.Node) bool {
	for _, list := range n.AllFlags(false) {
		for _, f := range list {
			if f.Name != "help" && !f.Required {
				return true
			}
		}
	}
	return false
}

// connectionHelp prints how commands reach a server, with all connection flags.
func connectionHelp(k *kong.Kong, io *streams) {
	fmt.Fprintln(io.out, `On the server's machine, commands use the Unix socket in the data directory
and need no token. From another machine, name the server and a token, best in
the environment. These flags go before or after the command:`)
	fmt.Fprintln(io.out)
	var rows [][]string
	for _, n := range k.Model.Children {
		if flags := connectionFlags(n); len(flags) > 0 {
			for _, f := range flags {
				name := "--" + f.Name
				if f.Short != 0 {
					name = "-" + string(f.Short) + ", " + name
				}
				rows = append(rows, []string{"  " + name, strings.Join(f.Envs, " "), f.Help})
			}
			break
		}
	}
	rows = append([][]string{{"  FLAG", "ENVIRONMENT", "MEANING"}}, rows...)
	for _, line := range columnsOf(rows, io.width) {
		fmt.Fprintln(io.out, line)
	}
	fmt.Fprintln(io.out, `
Example, first on the server's machine, then on another:
  latchkey admin token create "Ana's laptop" --ttl 30d
  export LATCHKEY_SERVER=latchkey.example:7070 LATCHKEY_TOKEN=lko_...
  latchkey property list`)
}

// valuedFlags are all connection flags with a value, which is the next word unless = joins it to the flag.
var valuedFlags = []string{"--data-dir", "--server", "--token", "--property", "-p", "--ca", "--answers-in"}

// flagsLast returns the command line with the connection flags that the user typed before the command moved to its end, or before "--",
// where kong accepts them. If another flag is before the command, it returns args unchanged.
func flagsLast(args []string) []string {
	i := 0
	for i < len(args) {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case name == "--plaintext" || name == "--json" || joined && slices.Contains(valuedFlags, name) || len(name) > 2 && strings.HasPrefix(name, "-p") && !strings.HasPrefix(name, "--"):
			i++
		case slices.Contains(valuedFlags, name):
			i += 2
		default:
			if i == 0 || strings.HasPrefix(args[i], "-") {
				return args
			}
			end := len(args)
			for j, a := range args {
				if a == "--" {
					end = j
					break
				}
			}
			moved := append([]string{}, args[i:max(end, i)]...)
			return append(append(moved, args[:i]...), args[max(end, i):]...)
		}
	}
	return args
}
