package rule

import (
	"slices"
	"time"
)

// Rule is one version of the law of one country about what an accommodation asks its guests. Each version names its source and the day on
// which the source was read. It is no legal advice: a property confirms the rule that it uses.
type Rule struct {
	Name   string // ISO 3166-1 alpha-2, or the text "none" of the rule that asks nothing
	Since  string // in force since, YYYY-MM-DD
	Source string // the law
	URL    string // where the law can be read
	Also   string // a second source, or empty
	ReadOn string // when the sources were read, YYYY-MM-DD
	// Closed means that the official form must hold no answers that the law does not ask.
	Closed bool
	// KeepMonths is how long the form is kept after departure; 0: the source names no time.
	KeepMonths int
	// keepFrom is how many days after the departure KeepMonths begin, where the law counts from the report of the departure.
	keepFrom int
	// IdentityCheck and Signature are what the settings should say where the rule applies; empty: "none".
	IdentityCheck, Signature string
	// NoDrawnSignature means that a signature drawn on a screen does not count.
	NoDrawnSignature bool
	// SignsOnArrival means that guests sign on the day of arrival, not before.
	SignsOnArrival bool
	// LeftToProperty is the kind of the text that says which duties of the law the property must do without this service; empty: none.
	LeftToProperty string

	foreignOnly bool        // citizens of the country fill in no form
	family      family      // companions whom the form of the main guest covers as members of the family
	groupsOver  int         // the leader of a larger party fills in one form for all; 0: each guest has a form of their own
	signs       []condition // a guest signs if one of them holds; empty: the law names no signer, and all adults sign
	wants       []requirement
}

// requirement is one field that a law asks of the guests for whom when holds.
type requirement struct {
	field    Field
	when     condition
	optional bool
	later    bool  // wanted at the departure at the latest
	decides  bool  // the answer only decides what else is asked; it is not on the official form
	or       Field // another field, whose answer is enough in place of this one; empty: there is none
}

// condition is a set of conditions on a guest that must all hold. The empty set holds for every guest.
type condition uint32

const (
	foreign      condition = 1 << iota // not a citizen of the country; a guest who has not said is asked for the citizenship only
	citizen                            // a citizen of the country
	alien                              // see isAlien
	thirdCountry                       // see isThirdCountry
	adult                              // 18 or older; if the age is unknown, it holds unless the party counts the guest as a child
	minor                              // under 18; if the age is unknown, it holds if the party counts the guest as a child
	from14                             // 14 or older; if the age is unknown, it holds unless the party counts the guest as a child
	from15                             // 15 or older; if the age is unknown, it holds unless the party counts the guest as a child
	from16                             // 16 or older; if the age is unknown, it holds unless the party counts the guest as a child
	head                               // the main guest
	companion                          // not the main guest
	notFamily                          // not covered by the form of the main guest as a member of the family
	group                              // a companion whom the form of the main guest, who leads a group, covers: see groupsOver
	notGroup                           // a guest whom no form of a group's leader covers
	notCovered                         // the main guest, or the main guest fills in no form
	bornHere                           // born in the country
	livesHere                          // lives in the country
	countedChild                       // the party counts the guest as a child
	childOfAge                         // a child of the main guest, of any age, whom the party does not count as a child
	hasIDCard                          // travels with an identity card
	hasPermit                          // travels with a residence permit
)

// all reports whether every condition of c holds for a guest. held are the conditions that hold.
func (held condition) all(c condition) bool { return c&^held == 0 }

// conditionsOf returns the conditions that hold for a guest.
func (r *Rule) conditionsOf(g Guest, p Party) condition {
	age, known := ageOn(g, p.Arrival)
	isMinor := IsMinor(g, p.Arrival)
	from := func(years int) bool { return !known && !g.Child || known && age >= years }
	coverable := !g.Main && !r.isExempt(p.Head)
	inGroup := coverable && r.groupsOver > 0 && p.Size > r.groupsOver
	var held condition
	set := func(c condition, holds bool) {
		if holds {
			held |= c
		}
	}
	set(foreign, r.isForeign(g.Answers))
	set(citizen, r.isCitizen(g.Answers))
	set(alien, isAlien(g.Answers))
	set(thirdCountry, isThirdCountry(g.Answers))
	set(adult, !isMinor)
	set(minor, isMinor)
	set(from14, from(14))
	set(from15, from(15))
	set(from16, from(16))
	set(head, g.Main)
	set(companion, !g.Main)
	set(countedChild, g.Child)
	set(childOfAge, g.Answers[Kinship] == "child" && !g.Child)
	when, isFamily := r.family[g.Answers[Kinship]]
	set(notFamily, !coverable || !isFamily || !held.all(when))
	set(group, inGroup)
	set(notGroup, !inGroup)
	set(notCovered, !coverable)
	set(bornHere, g.Answers[BirthCountry] == r.Name)
	set(livesHere, g.Answers[Country] == r.Name)
	set(hasIDCard, g.Answers[DocumentType] == "idCard")
	set(hasPermit, g.Answers[DocumentType] == "residencePermit")
	return held
}

// isCitizen reports whether a guest named the citizenship of the rule's country.
func (r *Rule) isCitizen(a Answers) bool {
	return a[Nationality] == r.Name || a[OtherNationality] == r.Name
}

// isForeign reports whether a guest named a citizenship, and none of the country.
func (r *Rule) isForeign(a Answers) bool { return a[Nationality] != "" && !r.isCitizen(a) }

// isExempt reports whether the main guest fills in no form, as a citizen where only foreigners do. Then there is no form to cover
// companions.
func (r *Rule) isExempt(main Answers) bool { return r.foreignOnly && r.isCitizen(main) }

// family has the answers to kinship that make a companion a member of the main guest's family, each with a condition on the companion; 0:
// none.
type family map[string]condition

// relatives are all relatives of the main guest. closeFamily are those of the German law since 2025.
var (
	relatives   = family{"spouse": 0, "child": 0, "parent": 0, "sibling": 0, "grandparent": 0, "otherFamily": 0}
	closeFamily = family{"spouse": 0, "child": minor}
)

// KinshipOptions are the answers to kinship: what the guest is to the main guest.
var KinshipOptions = []string{"spouse", "child", "parent", "sibling", "grandparent", "otherFamily", "guardian", "notFamily"}

// Find returns the newest version of the rule with a name, and false if there is none.
func Find(name string) (*Rule, bool) {
	for i := range Rules {
		if Rules[i].Name == name {
			return &Rules[i], true
		}
	}
	return nil, false
}

// On returns the version of the rule that is in force on a day. For a day before all versions it is the earliest one, and for the zero time
// the newest.
func (r *Rule) On(day time.Time) *Rule {
	newest, ok := Find(r.Name)
	if !ok {
		return r
	}
	date := day.Format(time.DateOnly)
	if day.IsZero() || newest.Since <= date {
		return newest
	}
	inForce := newest
	for i := range former { // the newest version of a country comes first
		if v := &former[i]; v.Name == r.Name {
			inForce = v
			if v.Since <= date {
				break
			}
		}
	}
	return inForce
}

// every returns requirements for the table of rules. The fields are required of each guest for whom all conditions of when hold.
func every(when condition, fields ...Field) []requirement {
	out := make([]requirement, len(fields))
	for i, f := range fields {
		out[i] = requirement{field: f, when: when}
	}
	return out
}

// optional is like every, for fields that a guest may leave empty.
func optional(when condition, fields ...Field) []requirement {
	out := every(when, fields...)
	for i := range out {
		out[i].optional = true
	}
	return out
}

// byDeparture is like every, for fields that the law wants by the departure. The check-in does not wait for them.
func byDeparture(when condition, fields ...Field) []requirement {
	out := optional(when, fields...)
	for i := range out {
		out[i].later = true
	}
	return out
}

// deciding is like every, for fields whose answers decide what else the law asks. They are not on the official form. OtherNationality is
// optional.
func deciding(when condition, fields ...Field) []requirement {
	out := every(when, fields...)
	for i := range out {
		out[i].decides = true
		out[i].optional = fields[i] == OtherNationality
	}
	return out
}

// FormFields returns the fields that the rule puts on an official form, in the order of the form, and always first and last name. Some do
// not concern every guest.
func (r *Rule) FormFields() (fields []Field) {
	onForm := map[Field]bool{FirstName: true, LastName: true}
	for _, w := range r.wants {
		onForm[w.field] = onForm[w.field] || !w.decides
	}
	for _, e := range steps {
		if onForm[e.field] {
			fields = append(fields, e.field)
		}
	}
	return fields
}

// Who says which guests fill in the form.
type Who string

// The values, each with more guests than the one before.
const (
	Lead   Who = "lead"   // the main guest
	Adults Who = "adults" // the main guest and all adults
	All    Who = "all"
)

var whoInOrder = []Who{Lead, Adults, All}

// Covers reports whether the guests of w include those of other: Lead, Adults and All each include the value before.
func (w Who) Covers(other Who) bool {
	return slices.Index(whoInOrder, w) >= slices.Index(whoInOrder, other)
}

// Fills returns who must at least fill in a form so that the property complies with the rule. A property may ask more guests.
func (r *Rule) Fills() Who {
	fills := Lead
	for _, w := range r.wants {
		switch {
		case w.optional, w.decides, w.when&head != 0:
		case w.when&adult == 0:
			return All
		default:
			fills = Adults
		}
	}
	return fills
}
