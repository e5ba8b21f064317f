// Package privacy defines annotations for the models in ent/schema. They describe what each column reveals about a person, how it is
// protected and when it is deleted. A test of the repository checks them and docs/privacy.md.
package privacy

// Class is what a column reveals about a person.
type Class string

const (
	None      Class = "none"      // nothing: locks, rooms, settings, counters
	Row       Class = "row"       // an id, a time or a reference: pseudonym in a table about people, else none
	Pseudonym Class = "pseudonym" // something about a person, without a name: states, choices, counts, booking numbers
	Personal  Class = "personal"  // a name, a contact, or what a person wrote
	Document  Class = "document"  // answers of an official form, and signatures
	Secret    Class = "secret"    // what opens something: PINs, tokens, keys, passwords
)

// Protection is how a value is stored.
type Protection string

const (
	Plain  Protection = "plain"
	Sealed Protection = "sealed" // encrypted with the data key of the property, or of the installation
	Hashed Protection = "hashed" // a keyed hash, or the hash of a password: it is compared and never read
)

// Field is the privacy annotation of a column.
type Field struct {
	Class      Class
	Protection Protection
	Why        string // Why is the reason why personal data is stored unencrypted, or empty
}

// Name implements schema.Annotation of ent.
func (Field) Name() string { return "PrivacyField" }

// Subject is what the rows of a table are about.
type Subject string

const (
	Things Subject = "things" // rooms, locks, settings, partners
	Guests Subject = "guests"
	Staff  Subject = "staff"
)

// End is an event that deletes the rows of a table, or clears their personal data. The values are texts of docs/privacy.md, where a flag
// means the end of its retention time.
type End string

const (
	Erasure    End = "an erasure"
	Stay       End = "`--keep-stays`"
	Events     End = "`--keep-events`"
	Audit      End = "`--keep-audit`"
	Expiry     End = "its own expiry"
	LawsDay    End = "the day that the law names"
	ThreeYears End = "three years"
	Superseded End = "the next value"
	Deletion   End = "deletion"
)

// Table is the privacy annotation of a model (a table): whom its rows are about, and which events delete or clear them.
type Table struct {
	About Subject
	Ends  []End
	Kept  string // Kept is the reason why an erasure on request does not touch a table about guests
}

// Name implements schema.Annotation of ent.
func (Table) Name() string { return "PrivacyTable" }

// Keeps returns a copy of the annotation with why as the reason why an erasure on request does not touch the table.
func (t Table) Keeps(why string) Table {
	t.Kept = why
	return t
}
