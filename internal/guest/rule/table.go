package rule

import "slices"

// Group is a group of fields that a guest shares, or does not share, with the PMS.
type Group string

// The groups.
const (
	Identity Group = "identity"
	Contact  Group = "contact"
	Home     Group = "home"
	Document Group = "document"
	Birth    Group = "birth"
)

// Groups has the fields of each group.
var Groups = map[Group][]Field{
	Identity: {FirstName, LastName, SecondLastName, Nationality, OtherNationality, Sex, Kinship},
	Contact:  {Email, Mobile},
	Home:     {Street, Postcode, City, Region, Country, ComingFrom},
	Document: {DocumentType, DocumentNumber, SupportNumber, IssuingPlace, IssuingCountry, IssuingAuthority, IssueDate},
	Birth:    {BirthDate, BirthPlace, BirthCountry},
}

// GroupNames lists the groups in the order in which pages show them.
var GroupNames = []Group{Identity, Contact, Home, Document, Birth}

// optionalInGroup has fields that not every guest can answer.
var optionalInGroup = map[Field]bool{
	SecondLastName: true, OtherNationality: true, Sex: true, Kinship: true, Postcode: true, Region: true, ComingFrom: true,
	SupportNumber: true, IssuingPlace: true, IssuingAuthority: true, IssueDate: true, BirthPlace: true, BirthCountry: true,
}

// Rule is the law of one country about what an accommodation asks its guests. Each rule carries its source and the day on
// which the source was read. It is no legal advice: a property confirms its own.
type Rule struct {
	Name   string // ISO 3166-1 alpha-2, or none
	Since  string // in force since, YYYY-MM-DD
	Source string // the law
	URL    string // where it can be read
	ReadOn string // when the source was read, YYYY-MM-DD
	// Closed means that the official form must hold nothing else.
	Closed bool
	// KeepMonths is how long the form is kept after departure; 0: the source names no time.
	KeepMonths int
	// IdentityCheck and Signature are what the settings should say where the rule applies.
	IdentityCheck, Signature string
	// Limits says which part of the law this service does not do, as a kind of the catalogue; empty: none.
	Limits string

	signs signers
	wants []want
}

type signers int

const (
	signNone signers = iota
	signAll
	signForeign
	signFrom14
)

// want is one field of a law. All its conditions must hold.
type want struct {
	field    Field
	when     condition
	optional bool
	or       Field // one of both is enough
}

// condition says whom a field is asked. The zero condition is every guest.
type condition uint16

const (
	foreign   condition = 1 << iota // not a citizen of the country; a guest who has not said is asked for the citizenship only
	adult                           // 18 or older, as far as known
	minor                           // under 18
	head                            // the main guest
	companion                       // not the main guest
	alien                           // see isAlien
	from16                          // 16 or older, as far as known
	from15                          // 15 or older, as far as known
	citizen                         // a citizen of the country
	notFamily                       // not of the family of the main guest
)

func (r *Rule) applies(w want, g Guest, p Party) bool {
	age, known := ageOn(g, p.Arrival)
	isMinor := IsMinor(g, p.Arrival)
	for c, holds := range map[condition]bool{
		foreign: r.foreign(g.Answers), citizen: g.Answers[Nationality] == r.Name, alien: isAlien(g.Answers[Nationality]),
		adult: !isMinor, minor: isMinor, head: g.Main, companion: !g.Main,
		from16: !known && !g.Child || known && age >= 16, from15: !known && !g.Child || known && age >= 15,
		notFamily: g.Main || !slices.Contains(family, g.Answers[Kinship]),
	} {
		if w.when&c != 0 && !holds {
			return false
		}
	}
	return true
}

// foreign reports whether a guest has said to be a citizen of another country and of none that the rule is of.
func (r *Rule) foreign(a Answers) bool {
	return a[Nationality] != "" && a[Nationality] != r.Name && a[OtherNationality] != r.Name
}

// family are the answers to kinship that make a companion a member of the main guest's family.
var family = []string{"spouse", "child", "parent", "sibling", "grandparent", "otherFamily"}

// KinshipOptions are the answers to kinship: what the guest is to the main guest.
var KinshipOptions = append(slices.Clone(family), "guardian", "notFamily")

// Find returns the rule with a name, and false if there is none.
func Find(name string) (*Rule, bool) {
	for i := range Rules {
		if Rules[i].Name == name {
			return &Rules[i], true
		}
	}
	return nil, false
}

func every(when condition, fields ...Field) []want {
	out := make([]want, len(fields))
	for i, f := range fields {
		out[i] = want{field: f, when: when}
	}
	return out
}

func optional(when condition, fields ...Field) []want {
	out := every(when, fields...)
	for i := range out {
		out[i].optional = true
	}
	return out
}

// Rules are the rules that a property can choose, by country; the first asks nothing.
var Rules = []Rule{
	{Name: "none"},
	{
		Name: "AT", Since: "2023-11-01", Source: "Meldegesetz § 5, § 10", ReadOn: "2026-11-22", Closed: true, KeepMonths: 84,
		URL:   "https://usp.gv.at/themen/brancheninformationen/gastronomie-und-tourismus/gaesteverzeichnis.html",
		signs: signAll, Signature: "drawn",
		wants: slices.Concat(
			every(companion, Kinship),
			every(0, FirstName, LastName, BirthDate),
			every(notFamily, Nationality, Sex, ComingFrom, Street, Postcode, City, Country),
			every(notFamily|foreign, DocumentType, DocumentNumber, IssueDate, IssuingAuthority),
		),
	},
	{
		Name: "AU", Since: "2020-01-01", Source: "Public Health and Wellbeing (Prescribed Accommodation) Regulations (Victoria)", ReadOn: "2026-11-22", KeepMonths: 12,
		URL:    "https://auscamps.asn.au/member-resources/site/accommodation-regulations",
		Limits: "limits.AU",
		wants:  every(0, FirstName, LastName, Street, City, Country),
	},
	{
		Name: "DE", Since: "2025-01-01", Source: "§§ 29, 30 BMG", ReadOn: "2026-11-22", Closed: true, KeepMonths: 12,
		URL:   "https://www.buzer.de/gesetz/10628/a180984.htm",
		signs: signForeign, Signature: "paper", IdentityCheck: "compareAtDesk", Limits: "limits.DE",
		wants: slices.Concat(
			every(0, Nationality), optional(0, OtherNationality),
			every(companion|foreign, Kinship),
			every(foreign|notFamily, FirstName, LastName, BirthDate, Street, City, Country, DocumentNumber),
			optional(foreign|notFamily, Postcode),
		),
	},
	{
		Name: "ES", Since: "2024-12-02", Source: "RD 933/2021", ReadOn: "2026-11-22", KeepMonths: 36,
		URL:   "https://www.interior.gob.es/opencms/gl/servicios-al-ciudadano/tramites-y-gestiones/seguridad/registro-documental-de-viajeros/",
		signs: signFrom14, Signature: "drawn", Limits: "limits.ES",
		wants: slices.Concat(
			every(0, FirstName, LastName, Nationality, BirthDate, Sex, Street, City, Country),
			every(citizen, SecondLastName), optional(0, SecondLastName),
			optional(0, Postcode),
			every(adult, DocumentType, DocumentNumber), optional(adult, SupportNumber),
			[]want{{field: Email, when: adult, or: Mobile}, {field: Mobile, when: adult, or: Email}},
			every(minor, Kinship),
		),
	},
	{
		Name: "FR", Since: "2015-10-01", Source: "CESEDA R. 814-1", ReadOn: "2026-11-22", KeepMonths: 6,
		URL:   "http://www.niortmaraispoitevin.com/infos-prestataires/laccueil-des-touristes-etrangers-en-hebergement-touristique",
		signs: signForeign, Signature: "drawn",
		wants: slices.Concat(
			every(0, Nationality), optional(0, OtherNationality),
			every(foreign, FirstName, LastName, BirthDate),
			every(foreign|from15, BirthPlace, Street, City, Country, Mobile, Email), optional(foreign|from15, Postcode),
		),
	},
	{
		Name: "GB", Since: "1973-01-01", Source: "Immigration (Hotel Records) Order 1972", ReadOn: "2026-11-22", KeepMonths: 12,
		URL:    "https://www.legislation.gov.uk/uksi/1972/1689/made/data.html",
		Limits: "limits.GB",
		wants:  slices.Concat(every(from16, FirstName, LastName, Nationality), every(from16|alien, DocumentNumber, IssuingPlace)),
	},
	{
		Name: "HR", Since: "2020-04-16", Source: "NN 43/2020", ReadOn: "2026-11-22",
		URL:    "https://www.zakon.hr/cms.htm?id=44173",
		Limits: "limits.HR",
		wants: slices.Concat(
			every(0, FirstName, LastName, Nationality, BirthDate, BirthCountry, Sex, City, Country, DocumentType, DocumentNumber),
			optional(0, BirthPlace, Street),
		),
	},
	{
		Name: "HU", Since: "2021-09-01", Source: "239/2009. (X. 20.) Korm. rendelet, VIZA", ReadOn: "2026-11-22", KeepMonths: 24,
		URL:           "https://reedhotel.hu/en/hotel-siofok/important-information-before-travelling-11944.html",
		IdentityCheck: "compareAtDesk", Limits: "limits.HU",
		wants: every(0, FirstName, LastName, BirthName, MotherName, Nationality, BirthDate, BirthPlace, Sex, DocumentType, DocumentNumber),
	},
	{
		Name: "IT", Since: "2021-10-14", Source: "TULPS art. 109, DM 7.1.2013", ReadOn: "2026-11-22",
		URL:           "https://www.gazzettaufficiale.it",
		IdentityCheck: "live", Limits: "limits.IT",
		wants: slices.Concat(
			every(0, FirstName, LastName, Nationality, BirthDate, BirthPlace, BirthCountry, Sex),
			every(head, DocumentType, DocumentNumber, IssuingPlace),
		),
	},
	{
		Name: "PT", Since: "2007-07-04", Source: "Lei 23/2007, artigo 15", ReadOn: "2026-11-22", KeepMonths: 12,
		URL:    "https://sites.google.com/site/leximigratoria/artigo-15-o-boletim-de-alojamento",
		signs:  signForeign,
		Limits: "limits.PT", Signature: "drawn",
		wants: slices.Concat(
			every(0, Nationality), optional(0, OtherNationality),
			every(foreign, FirstName, LastName, BirthDate, City, Country, DocumentType, DocumentNumber, IssuingCountry),
			optional(foreign, BirthPlace),
		),
	},
}
