package readiness

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/test/sourcetest"
)

// Each fix that Judge can add has a text in every language of staff, with its parameters.
func TestEveryFixHasATextInEachLanguage(t *testing.T) {
	fixes := map[access.Reason]Fix{}
	for _, f := range allFacts(t) {
		for _, fix := range Judge(f).Fixes {
			fixes[fix.Reason] = fix
		}
	}
	for name, reason := range namedReasons(t) {
		if _, ok := fixes[access.Reason(reason)]; !ok {
			t.Errorf("judge.go names the reason %s, and no facts lead to it: add them to allFacts", name)
		}
	}
	for _, language := range []string{"en", "de", "es", "fr"} {
		texts := message.Kinds(language)
		for reason, fix := range fixes {
			params, ok := texts[fix.Message().Kind]
			if want := slices.Sorted(maps.Keys(fix.Params)); !ok {
				t.Errorf("%s: the fix %s has no text", language, reason)
			} else if !slices.Equal(params, want) {
				t.Errorf("%s: the text of the fix %s has the parameters %v, want %v", language, reason, params, want)
			}
		}
	}
}

// allFacts returns facts with each reason of a plan, and with each plan of a door together with each state of its lock.
func allFacts(t *testing.T) (all []Facts) {
	f := Facts{Now: noon, From: noon, State: access.Confirmed, Conflict: true, Failing: []string{partner.GetSpaces}}
	for _, reason := range access.Reasons {
		f.Plan = access.Plan{Reasons: []access.Reason{reason}}
		all = append(all, f)
	}
	locks := allLocks(t)
	for _, plan := range allPlans(t) {
		for _, l := range locks {
			f.Plan, f.Locks = plan, map[string]Lock{"spc_1": l}
			all = append(all, f)
		}
	}
	return all
}

// allPlans returns the plans for a door in each state, with the guest's code in each state, or without one.
func allPlans(t *testing.T) (all []access.Plan) {
	var codes [][]access.SlotCode
	for _, e := range sourcetest.Constants(t, "../../lock/slot/slot.go", "Evidence") {
		for _, result := range append(slot.Results(), "") {
			codes = append(codes, []access.SlotCode{{LockID: "lck_1", DoorID: "spc_1", Present: true, Evidence: slot.Evidence(e), Result: string(result)}})
		}
	}
	window := access.Window{From: noon, To: noon.Add(48 * time.Hour)}
	for _, right := range []access.Right{{Reason: access.NotCheckedIn}, {Open: true, Window: window}, {Open: true, Window: window, HeldBack: true, Reason: access.WindowInFuture}} {
		for _, l := range []*access.Lock{nil, {ID: "lck_1", Online: true}, {ID: "lck_1"}, {ID: "lck_1", Bridge: lock.NoBridge}, {ID: "lck_1", Online: true, Jammed: true}} {
			for _, c := range append(codes, nil) {
				for _, noPIN := range []bool{false, true} {
					all = append(all, access.Describe(access.Facts{
						Right: right, Codes: c, NoPIN: map[string]bool{"spc_1": noPIN}, Doors: []access.Door{{ID: "spc_1", Name: "Room 1", Kind: access.Room, Lock: l}},
					}))
				}
			}
		}
	}
	return all
}

// allLocks returns a lock without a problem, and one with each problem. The causes for which a bridge reaches no lock come from their
// package.
func allLocks(t *testing.T) (all []Lock) {
	empty := 0
	changes := []func(*Lock){
		func(*Lock) {},
		func(l *Lock) { l.Undriven = lock.NoBridge },
		func(l *Lock) { l.Undriven = lock.BridgeRevoked },
		func(l *Lock) { l.BridgeOnline = false },
		func(l *Lock) { l.Online = false },
		func(l *Lock) { l.ReadBack = true },
		func(l *Lock) { l.OwnSchedule, l.Clock = true, time.Hour },
		func(l *Lock) { l.BridgeClock = time.Hour },
		func(l *Lock) { l.Battery = &empty },
		func(l *Lock) { l.Free = 0 },
		func(l *Lock) { l.Jammed = true },
		func(l *Lock) { l.Guessable = true },
	}
	for _, cause := range sourcetest.Constants(t, "../../lock/slot/result.go", "") {
		changes = append(changes, func(l *Lock) { l.Online, l.OfflineCause = false, access.Reason(cause) })
	}
	for _, change := range changes {
		l := Lock{Online: true, BridgeOnline: true, Free: 1}
		change(&l)
		all = append(all, l)
	}
	return all
}

// namedReasons returns the reasons that judge.go declares, or adds by the name of another package, each by its name. Those of values, such
// as a door's reason, are not named. A reason that is a text without a name fails the test.
func namedReasons(t *testing.T) map[string]string {
	named := sourcetest.Constants(t, "judge.go", "access.Reason")
	known := map[string]string{}
	for file, typ := range map[string]string{"access/describe.go": "Reason", "space/resolve.go": "", "lock/presence.go": "", "lock/slot/result.go": ""} {
		for name, reason := range sourcetest.Constants(t, "../../"+file, typ) {
			known[path.Base(path.Dir(file))+"."+name] = reason
		}
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "judge.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(reason ast.Expr) {
		ast.Inspect(reason, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				t.Errorf("judge.go adds a fix with the text %s as its reason: use a constant", n.Value)
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && known[pkg.Name+"."+n.Sel.Name] != "" {
					named[pkg.Name+"."+n.Sel.Name] = known[pkg.Name+"."+n.Sel.Name]
				}
			}
			return true
		})
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "add" {
				add(n.Args[0])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Reason" {
				add(n.Value)
			}
		}
		return true
	})
	return named
}
