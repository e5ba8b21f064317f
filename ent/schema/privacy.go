package schema

import "latchkey.dev/internal/privacy"

// The annotations of columns. row is that of ids, times and references.
var (
	none      = privacy.Field{Class: privacy.None, Protection: privacy.Plain}
	row       = privacy.Field{Class: privacy.Row, Protection: privacy.Plain}
	pseudonym = privacy.Field{Class: privacy.Pseudonym, Protection: privacy.Plain}
)

const (
	personal = privacy.Personal
	document = privacy.Document
	secret   = privacy.Secret
)

// sealed annotates a column that is encrypted.
func sealed(class privacy.Class) privacy.Field {
	return privacy.Field{Class: class, Protection: privacy.Sealed}
}

// hashed annotates a column with a keyed hash, or with the hash of a password.
func hashed(class privacy.Class) privacy.Field {
	return privacy.Field{Class: class, Protection: privacy.Hashed}
}

// plain annotates a column with personal data that anyone with the database reads, and says why.
func plain(why string) privacy.Field {
	return privacy.Field{Class: privacy.Personal, Protection: privacy.Plain, Why: why}
}

func aboutGuests(ends ...privacy.End) privacy.Table {
	return privacy.Table{About: privacy.Guests, Ends: ends}
}

func aboutStaff(ends ...privacy.End) privacy.Table {
	return privacy.Table{About: privacy.Staff, Ends: ends}
}

func aboutThings(ends ...privacy.End) privacy.Table {
	return privacy.Table{About: privacy.Things, Ends: ends}
}
