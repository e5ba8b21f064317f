package main

import (
	"fmt"
	"slices"
	"strings"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// candidate is an object that a word on the command line may refer to.
type candidate struct {
	id    string
	names []string // words that mean the object, at least one; the first is shown, and an empty one matches no word
	about string   // text that distinguishes candidates with the same name
	ended bool     // the object is out of use, so that a name means it only if it means no object in use
}

// kind is a kind of object, such as lock, that commands accept by id or name.
type kind struct {
	noun     string
	prefixes []string     // prefixes of ids; none if another system chose the ids, so that an id can equal another object's name
	reason   fault.Reason // reason of the error if no object matches
	listing  string       // command that lists the objects, for the texts of errors
	// list loads all objects of the kind from the server.
	list func(s *session) ([]candidate, error)
}

// hasID reports whether a word has the format of an id of this kind. It returns false if another system chose the ids.
func (k kind) hasID(word string) bool {
	return slices.ContainsFunc(k.prefixes, func(p string) bool { return strings.HasPrefix(word, p) })
}

// match returns those candidates in list that a word refers to: by id, otherwise by name, otherwise by a name that differs only in case or
// spaces. If another system chose the ids, a word can match both an id and a name; id:WORD matches only the id.
func (k kind) match(word string, list []candidate) []candidate {
	id, onlyID := word, false
	if len(k.prefixes) == 0 {
		id, onlyID = strings.CutPrefix(word, idMark)
	}
	byID := func(c candidate) bool { return c.id == id }
	if onlyID || len(k.prefixes) > 0 && slices.ContainsFunc(list, byID) {
		return matching(list, byID)
	}
	byName := func(equal func(a, b string) bool) func(c candidate) bool {
		return func(c candidate) bool {
			return slices.ContainsFunc(c.names, func(name string) bool { return name != "" && equal(name, word) })
		}
	}
	same := byName(func(a, b string) bool { return a == b })
	if found := matching(list, func(c candidate) bool { return byID(c) || same(c) }); len(found) > 0 {
		return found
	}
	return matching(list, byName(alike))
}

// alike reports whether two names differ at most in case or spaces.
func alike(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), ""), strings.Join(strings.Fields(b), ""))
}

// sayNamesakes prints a note for each other object in use whose name is alike that of a new object, because only their ids distinguish
// them. It prints nothing if the list cannot be loaded: the object is created all the same.
func (s *session) sayNamesakes(k kind, id, name string) {
	list, err := k.list(s)
	if err != nil {
		return
	}
	for _, c := range matching(list, func(c candidate) bool { return c.id != id && !c.ended && alike(c.names[0], name) }) {
		s.say("Another %s is called %s: %s. In commands on one of them, use the id.", k.noun, c.names[0], c.id)
	}
}

// idMark is the prefix that marks a word as an id, where another system chose the ids.
const idMark = "id:"

// matching returns the candidates in list for which meets returns true.
func matching(list []candidate, meets func(c candidate) bool) []candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return !meets(c) })
}

// choose returns the id of the only candidate in list that a word refers to: see match. Of several it returns the only one in use. It fails
// with a fault if there is none or more than one: the text lists up to ten of several.
func (k kind) choose(word string, list []candidate) (string, error) {
	found := k.match(word, list)
	if inUse := matching(found, func(c candidate) bool { return !c.ended }); len(inUse) == 1 {
		found = inUse
	}
	switch len(found) {
	case 0:
		return "", fault.New(fault.NotFound, k.reason, "there is no %s %s; to list them: %s", k.noun, word, k.listing)
	case 1:
		return found[0].id, nil
	}
	const most = 10
	mark := ""
	if len(k.prefixes) == 0 {
		mark = idMark
	}
	text := fmt.Sprintf("%q matches more than one %s; use an id:", word, k.noun)
	for _, c := range found[:min(len(found), most)] {
		text += "\n  " + strings.TrimSpace(mark+c.id+"  "+c.names[0]+"  "+c.about)
	}
	if len(found) > most {
		text += fmt.Sprintf("\n  and %d more: %s", len(found)-most, k.listing)
	}
	return "", fault.New(fault.Precondition, fault.Ambiguous, "%s", text)
}

// resolve replaces names of objects of a kind in words by their ids. It fails if a name matches none or several. It does not check ids, and
// leaves empty words unchanged. It loads the list of objects only if it needs it.
func (s *session) resolve(k kind, words ...*string) error {
	var list []candidate
	for _, w := range words {
		if *w == "" || k.hasID(*w) {
			continue
		}
		if list == nil {
			var err error
			if list, err = k.list(s); err != nil {
				return err
			}
		}
		id, err := k.choose(*w, list)
		if err != nil {
			return s.errWithTypedFlags(err)
		}
		*w = id
	}
	return nil
}

// errWithTypedFlags adds the connection flags that the user typed to the commands that a fault suggests. It returns an error that is no
// fault unchanged.
func (s *session) errWithTypedFlags(err error) error {
	if f, ok := fault.Of(err); ok {
		return fault.New(f.Kind, f.Reason, "%s", s.withTypedFlags(f.Message))
	}
	return err
}

// resolveAll is resolve for a list of words, which it changes in place.
func (s *session) resolveAll(k kind, words []string) error {
	at := make([]*string, len(words))
	for i := range words {
		at[i] = &words[i]
	}
	return s.resolve(k, at...)
}

// Kinds of objects that commands accept by id or name.
var (
	aLock = kind{"lock", []string{"lck_"}, fault.LockNotFound, "latchkey lock list", func(s *session) ([]candidate, error) {
		list, err := s.allLocks(&propertyv1.ListLocksRequest{})
		return lockCandidates(list), err
	}}
	aSpace = kind{"space", []string{"spc_"}, fault.SpaceNotFound, "latchkey space list", func(s *session) ([]candidate, error) {
		list, err := s.allSpaces("")
		return spaceCandidates(list), err
	}}
	aGate = kind{"gate", []string{"gat_"}, fault.GateNotFound, "latchkey gate list", func(s *session) ([]candidate, error) {
		answer, err := propertyv1.NewGateServiceClient(s.conn).ListGates(s, &propertyv1.ListGatesRequest{})
		return candidatesOf(answer.GetData().GetList(), func(g *propertyv1.Gate) candidate {
			return candidate{id: g.GetId(), names: []string{g.GetName()}, about: "gate"}
		}), err
	}}
	aKiosk = kind{"kiosk", []string{"ksk_"}, fault.KioskNotFound, "latchkey kiosk list", func(s *session) ([]candidate, error) {
		answer, err := propertyv1.NewKioskServiceClient(s.conn).ListKiosks(s, &propertyv1.ListKiosksRequest{})
		return candidatesOf(answer.GetData().GetList(), func(k *propertyv1.Kiosk) candidate {
			return candidate{id: k.GetId(), names: []string{k.GetName()}, about: "kiosk"}
		}), err
	}}
	aDoor = kind{"space or gate", []string{"spc_", "gat_"}, fault.SpaceNotFound, "latchkey space list, latchkey gate list", func(s *session) ([]candidate, error) {
		spaces, err := aSpace.list(s)
		if err != nil {
			return nil, err
		}
		gates, err := aGate.list(s)
		return append(spaces, gates...), err
	}}
	aBridge = kind{"bridge", []string{"brg_"}, fault.BridgeNotFound, "latchkey bridge list", func(s *session) ([]candidate, error) {
		answer, err := propertyv1.NewBridgeServiceClient(s.conn).ListBridges(s, &propertyv1.ListBridgesRequest{})
		return candidatesOf(answer.GetData().GetList(), func(b *propertyv1.Bridge) candidate {
			return candidate{id: b.GetId(), names: []string{b.GetName()}, about: b.GetState(), ended: b.GetState() == "revoked"}
		}), err
	}}
	anIntegration = kind{"integration", []string{"int_"}, fault.IntegrationNotFound, "latchkey integration list", func(s *session) ([]candidate, error) {
		answer, err := propertyv1.NewIntegrationServiceClient(s.conn).ListIntegrations(s, &propertyv1.ListIntegrationsRequest{})
		return candidatesOf(answer.GetData().GetList(), func(in *propertyv1.Integration) candidate {
			return candidate{id: in.GetId(), names: []string{in.GetName()}}
		}), err
	}}
	aCode = kind{"code", []string{"cod_"}, fault.CodeNotFound, "latchkey code list", func(s *session) ([]candidate, error) {
		list, err := s.allCodes(&propertyv1.ListCodesRequest{})
		return candidatesOf(list, func(c *propertyv1.Code) candidate {
			return candidate{id: c.GetId(), names: []string{c.GetHolder()}, about: c.GetKind()}
		}), err
	}}
	anApp = kind{"app", []string{"app_"}, fault.AppNotFound, "latchkey app list", func(s *session) ([]candidate, error) {
		answer, err := adminv1.NewAppServiceClient(s.conn).ListApps(s, &adminv1.ListAppsRequest{})
		return candidatesOf(answer.GetData().GetList(), func(a *adminv1.App) candidate {
			return candidate{id: a.GetId(), names: []string{a.GetName()}}
		}), err
	}}
	aProperty = kind{"property", []string{"prp_"}, fault.PropertyNotFound, "latchkey property list", func(s *session) ([]candidate, error) {
		list, err := s.allProperties()
		return candidatesOf(list, func(p *propertyv1.Property) candidate {
			return candidate{id: p.GetId(), names: []string{p.GetName()}}
		}), err
	}}
)

// tokenKind returns the kind for tokens, so that a command can name a token. list loads the tokens to choose from; listing is the command
// that prints them.
func tokenKind(listing string, list func(s *session) (*adminv1.TokenList, error)) kind {
	return kind{"token", []string{"tok_"}, fault.TokenNotFound, listing, func(s *session) ([]candidate, error) {
		tokens, err := list(s)
		return candidatesOf(tokens.GetList(), func(t *adminv1.Token) candidate {
			return candidate{id: t.GetId(), names: []string{t.GetName()}, about: "begins " + t.GetHint() + "..."}
		}), err
	}}
}

// candidatesOf converts objects to candidates with the function as. The result is never nil.
func candidatesOf[T any](list []T, as func(T) candidate) []candidate {
	out := make([]candidate, 0, len(list)) // an empty list, because nil would mean that the list is not loaded
	for _, x := range list {
		out = append(out, as(x))
	}
	return out
}

// lockCandidates returns locks as candidates. A command can name a lock by its name or by its address at the bridge.
func lockCandidates(list []*propertyv1.Lock) []candidate {
	return candidatesOf(list, func(l *propertyv1.Lock) candidate {
		about := "no door"
		if l.GetDoorName() != "" {
			about = "on " + text.FullName(l.GetDoorParentName(), l.GetDoorName())
		}
		return candidate{id: l.GetId(), names: []string{l.GetName(), l.GetAddress()}, about: fmt.Sprintf("address %s at %s, %s", l.GetAddress(), l.GetBridgeId(), about)}
	})
}

// spaceCandidates returns spaces as candidates. A command can name a bed by its name alone or together with its dorm: Dorm A/1.
func spaceCandidates(list []*propertyv1.Space) []candidate {
	dorms := map[string]string{}
	for _, sp := range list {
		dorms[sp.GetId()] = sp.GetName()
	}
	return candidatesOf(list, func(sp *propertyv1.Space) candidate {
		c := candidate{id: sp.GetId(), names: []string{sp.GetName()}, about: sp.GetType()}
		if dorm := dorms[sp.GetParentSpaceId()]; dorm != "" {
			c.names, c.about = append(c.names, dorm+"/"+sp.GetName()), fmt.Sprintf("Bed in %s (%s/%s)", dorm, dorm, sp.GetName())
		}
		return c
	})
}

// resolveApp replaces the name of a partner app by its id, and fails unless exactly one app has the name. With a staff token it does
// nothing, because only operators can list apps: the word must then be an id.
func (s *session) resolveApp(app *string) error {
	if strings.HasPrefix(s.Token, "lkp_") {
		return nil
	}
	err := s.resolve(anApp, app)
	if fault.Has(err, fault.AppNotFound) {
		return &hintedError{err, s.withTypedFlags("To create it: latchkey app create " + quoted(*app))}
	}
	return err
}
