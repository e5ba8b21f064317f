// Command mutation measures how well the published SmartKey test vectors find faults of a verifier. It changes the checks of package
// smartkey one at a time, runs the vectors against each mutant, and lists the mutants that pass all vectors.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	pkg     = "internal/smartkey"
	workers = 2
	// selectionSource is compiled into the package: one test binary contains every mutant, and an environment variable selects one.
	selectionSource = `package smartkey

import (
	"os"
	"strconv"
)

var activeMutant, _ = strconv.Atoi(os.Getenv("SMARTKEY_MUTANT"))

func mutant[T any](number int, original, mutated T) T {
	if number == activeMutant {
		return mutated
	}
	return original
}
`
)

// equivalents lists the known survivors: a line "function: change", then an indented reason why no vector can detect it.
//
//go:embed equivalent.txt
var equivalents string

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// run finds and compiles the mutants, tests each, and reports the survivors.
func run(ctx context.Context) error {
	files, mutants, err := findMutants(pkg)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "smartkey-mutation-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	binary, err := compile(ctx, temp, files, mutants)
	if err != nil {
		return err
	}
	if !vectorsPass(ctx, binary, 0) {
		return errors.New("the vectors fail without a mutant: run go test -run TestVectors ./" + pkg)
	}
	runAll(ctx, binary, mutants)
	return reportSurvivors(mutants, parseReasons(equivalents))
}

// compile builds the test binary with the mutated files, which an overlay substitutes for the originals.
func compile(ctx context.Context, temp string, files map[string]string, mutants []*mutant) (string, error) {
	replace, sources := map[string]string{}, map[string]string{filepath.Join(pkg, "mutant_selection.go"): selectionSource}
	for path, source := range files {
		sources[path] = insertMutants(path, source, mutants)
	}
	for path, source := range sources {
		full, err := filepath.Abs(path)
		replace[full] = filepath.Join(temp, filepath.Base(path))
		if err := errors.Join(err, os.WriteFile(replace[full], []byte(source), 0o600)); err != nil {
			return "", err
		}
	}
	overlay, binary := filepath.Join(temp, "overlay.json"), filepath.Join(temp, "smartkey.test")
	config, err := json.Marshal(map[string]any{"Replace": replace})
	if err := errors.Join(err, os.WriteFile(overlay, config, 0o600)); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./"+pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile the mutants: %w\n%s", err, out)
	}
	return binary, nil
}

// runAll runs the vectors against each mutant, several at the same time, and sets mutant.survived.
func runAll(ctx context.Context, binary string, mutants []*mutant) {
	queue := make(chan *mutant)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for m := range queue {
				m.survived = vectorsPass(ctx, binary, m.number)
			}
		})
	}
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	group.Wait()
}

// vectorsPass reports whether all vectors pass with the mutant of that number; 0 is the unchanged package.
func vectorsPass(ctx context.Context, binary string, number int) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestVectors$", "-test.failfast")
	cmd.Dir, cmd.Env = pkg, append(os.Environ(), fmt.Sprintf("SMARTKEY_MUTANT=%d", number))
	return cmd.Run() == nil
}

// parseReasons parses equivalent.txt. It returns the reasons by [mutant.reasonKey].
func parseReasons(text string) map[string]string {
	reasons, key := map[string]string{}, ""
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "\t"):
			reasons[key] += strings.TrimSpace(line)
		default:
			key = strings.TrimSpace(line)
		}
	}
	return reasons
}

// reportSurvivors prints the mutants that no vector detects. It returns an error for each survivor without a reason, and for each reason
// whose mutant was detected.
func reportSurvivors(mutants []*mutant, reasons map[string]string) error {
	survivors, unargued := 0, 0
	for _, m := range mutants {
		if !m.survived {
			continue
		}
		survivors++
		reason := reasons[m.reasonKey()]
		delete(reasons, m.reasonKey())
		if reason == "" {
			unargued++
			reason = "NOT ARGUED: add a vector, delete the check, or add a reason to equivalent.txt"
		}
		fmt.Printf("%s:%d: %s\n\t%s\n", m.file, m.line, m.reasonKey(), reason)
	}
	for key := range reasons {
		fmt.Printf("equivalent.txt: %s\n\tThe vectors kill this mutant: remove the entry.\n", key)
	}
	fmt.Printf("%d mutants, %d survive, %d of them not argued\n", len(mutants), survivors, unargued)
	if unargued+len(reasons) > 0 {
		return errors.New("the survivors are not those of equivalent.txt")
	}
	return nil
}
