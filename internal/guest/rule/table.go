package rule

import "slices"

// Rules are the newest versions of the rules that a property can choose, by country; the first asks nothing.
var Rules = []Rule{
	{Name: "none"},
	{
		Name: "AT", Since: "2023-11-01", Source: "Meldegesetz § 5, § 10", ReadOn: "2026-11-22", Closed: true, KeepMonths: 84,
		URL:    "https://usp.gv.at/themen/brancheninformationen/gastronomie-und-tourismus/gaesteverzeichnis.html",
		family: relatives,
		signs:  []condition{adult | notFamily}, Signature: "drawn",
		wants: slices.Concat(
			deciding(companion, Kinship),
			every(0, FirstName, LastName, BirthDate),
			every(notFamily, Nationality, Sex, ComingFrom, Street, Postcode, City, Country),
			every(notFamily|foreign, DocumentType, DocumentNumber, IssueDate, IssuingAuthority),
		),
	},
	{
		// The regulations of 2009 ended on 2020-12-14.
		Name: "AU", Since: "2020-12-14", Source: "Public Health and Wellbeing (Prescribed Accommodation) Regulations 2020 (Victoria)", ReadOn: "2026-11-22", KeepMonths: 12,
		URL:            "https://auscamps.asn.au/member-resources/site/accommodation-regulations",
		LeftToProperty: "limits.AU",
		wants:          slices.Concat(every(0, FirstName, LastName, Street, City, Country), optional(0, Postcode, Region)),
	},
	{
		// § 29 (2) in the version of 2025-01-01 speaks of foreign guests only, and counts foreign spouses, partners and minor children on the
		// form of another guest. Other relatives have a form of their own.
		Name: "DE", Since: "2025-01-01", Source: "§§ 29, 30 BMG", ReadOn: "2026-11-23", Closed: true, KeepMonths: 12,
		URL:         "https://www.buzer.de/gesetz/10628/a180984.htm",
		Also:        "https://www.buzer.de/gesetz/10628/al0-143959.htm",
		foreignOnly: true, groupsOver: 10, family: closeFamily,
		signs: []condition{foreign | from16 | notFamily | notGroup}, Signature: "paper", NoDrawnSignature: true, SignsOnArrival: true,
		IdentityCheck: "compareAtDesk", LeftToProperty: "limits.DE",
		wants: slices.Concat(
			deciding(0, Nationality, OtherNationality),
			deciding(companion|foreign|notGroup, Kinship), deciding(foreign|notGroup|childOfAge, BirthDate),
			every(foreign|notFamily|notGroup, FirstName, LastName, BirthDate, Nationality, Street, City, Country, DocumentNumber),
			optional(foreign|notFamily|notGroup, OtherNationality, Postcode),
			every(foreign|group, Nationality), // a foreign guest whom the leader's form covers answers only the citizenship, which that form lists
			optional(foreign|group, OtherNationality),
		),
	},
	{
		Name: "ES", Since: "2024-12-02", Source: "RD 933/2021", ReadOn: "2026-11-22", KeepMonths: 36,
		URL:   "https://www.interior.gob.es/opencms/gl/servicios-al-ciudadano/tramites-y-gestiones/seguridad/registro-documental-de-viajeros/",
		signs: []condition{from14}, Signature: "drawn", LeftToProperty: "limits.ES",
		wants: slices.Concat(
			every(0, FirstName, LastName, Nationality, BirthDate, Sex, Street, City, Country),
			optional(0, SecondLastName, Postcode),
			every(livesHere, Postcode),
			every(adult, DocumentType, DocumentNumber), optional(adult, SupportNumber),
			// The Spanish identity card has two family names and a support number; the card of foreign residents has a support number.
			every(adult|citizen|hasIDCard, SecondLastName, SupportNumber), every(adult|hasPermit, SupportNumber),
			[]requirement{{field: Email, when: adult, or: Mobile}, {field: Mobile, when: adult, or: Email}},
			every(minor|companion, Kinship),
		),
	},
	{
		Name: "FR", Since: "2015-10-01", Source: "CESEDA R. 814-1", ReadOn: "2026-11-22", KeepMonths: 6,
		URL:         "http://www.niortmaraispoitevin.com/infos-prestataires/laccueil-des-touristes-etrangers-en-hebergement-touristique",
		foreignOnly: true,
		// Each guest of a group has a card. A child under 15 may be on the card of an adult, if the adult has one. So each foreign guest
		// from 15 signs.
		signs: []condition{foreign | from15}, Signature: "drawn", SignsOnArrival: true,
		wants: slices.Concat(
			deciding(0, Nationality, OtherNationality),
			every(foreign, FirstName, LastName, BirthDate, Nationality), optional(foreign, OtherNationality),
			every(foreign|from15, BirthPlace, Street, City, Country, Mobile, Email), optional(foreign|from15, Postcode),
			every(foreign|notCovered, BirthPlace, Street, City, Country, Mobile, Email), optional(foreign|notCovered, Postcode),
		),
	},
	{
		Name: "GB", Since: "1973-01-01", Source: "Immigration (Hotel Records) Order 1972", ReadOn: "2026-11-22", KeepMonths: 12,
		URL:            "https://www.legislation.gov.uk/uksi/1972/1689/made/data.html",
		LeftToProperty: "limits.GB",
		wants: slices.Concat(
			deciding(countedChild, BirthDate), // a PMS counts children up to another age than 16
			every(from16, FirstName, LastName, Nationality), optional(from16, OtherNationality),
			every(from16|alien, DocumentType, DocumentNumber, IssuingPlace),
			byDeparture(from16|alien, NextDestination),
		),
	},
	{
		// The ordinance of 2020-04-08 is in force since 2020-04-16. The second source, a notice of a host, lists the same answers, and as the
		// last one the basis of an exemption from the sojourn tax. It has no date and names the tax act of 2008. The table takes the reasons from
		// https://www.rovinj-tourism.com/en/plan-your-journey/registration-of-arrival/616: 70 % disability with one escort, school, work. The
		// other reasons there, such as family of residents, are the answer "other".
		Name: "HR", Since: "2020-04-16", Source: "NN 43/2020", ReadOn: "2026-11-23",
		URL:            "https://www.zakon.hr/cms.htm?id=44173",
		Also:           "http://villa-poseidon.com/evisitor/",
		LeftToProperty: "limits.HR",
		wants: slices.Concat(
			every(0, FirstName, LastName, Nationality, BirthDate, BirthCountry, Sex, City, Country, DocumentType, DocumentNumber),
			optional(0, BirthPlace, Street),
			optional(0, TaxExemption), // without an answer the full sojourn tax is due; eVisitor knows the rates by age
		),
	},
	{
		Name: "HU", Since: "2021-09-01", Source: "239/2009. (X. 20.) Korm. rendelet, VIZA", ReadOn: "2026-11-22", KeepMonths: 24,
		URL:           "https://reedhotel.hu/en/hotel-siofok/important-information-before-travelling-11944.html",
		IdentityCheck: "compareAtDesk", LeftToProperty: "limits.HU",
		wants: slices.Concat(
			every(0, FirstName, LastName, BirthName, MotherName, Nationality, BirthDate, BirthPlace, Sex, DocumentType, DocumentNumber),
			optional(0, OtherNationality),
			every(thirdCountry, VisaNumber, EntryDate, EntryPlace),
		),
	},
	{
		Name: "IT", Since: "2021-10-14", Source: "TULPS art. 109, DM 7.1.2013", ReadOn: "2026-11-22",
		URL:           "https://www.gazzettaufficiale.it",
		IdentityCheck: "live", LeftToProperty: "limits.IT",
		wants: slices.Concat(
			every(0, FirstName, LastName, Nationality, BirthDate, BirthCountry, Sex),
			every(bornHere, BirthPlace, BirthProvince), // of those who were born abroad the country is enough
			every(head, DocumentType, DocumentNumber, IssuingPlace),
		),
	},
	{
		Name: "PT", Since: "2007-07-04", Source: "Lei 23/2007, artigo 15", ReadOn: "2026-11-22", KeepMonths: 12,
		URL:         "https://sites.google.com/site/leximigratoria/artigo-15-o-boletim-de-alojamento",
		foreignOnly: true,
		// Art. 15 keeps the bulletins for a year from the day after the notice of departure, which is due in three working days: five days with a
		// weekend.
		keepFrom: 5,
		// Each guest has a bulletin. The main guest may fill in and sign those of the spouse, the children and the group.
		// So only foreign adults whom the main guest does not cover sign.
		signs:          []condition{foreign | adult | notCovered},
		LeftToProperty: "limits.PT", Signature: "drawn",
		wants: slices.Concat(
			deciding(0, Nationality, OtherNationality),
			every(foreign, FirstName, LastName, BirthDate, Nationality, City, Country, DocumentType, DocumentNumber, IssuingCountry),
			optional(foreign, OtherNationality, BirthPlace),
		),
	},
}

// former are earlier versions of rules, for stays that arrived while they were in force: by country, the newest first.
var former = []Rule{
	{
		// The former law ended on 2015-11-01. Until the end of 2024 German citizens filled in the form, too: § 29 (2) spoke of all guests, and
		// counted relatives of any degree on the form of another guest. Both sources have this text, the second one as of 2021-03-18. Neither
		// says that it was the same before 2021.
		Name: "DE", Since: "2015-11-01", Source: "§§ 29, 30 BMG (2015)", ReadOn: "2026-11-23", Closed: true, KeepMonths: 12,
		URL:        "https://www.buzer.de/gesetz/10628/al0-143959.htm",
		Also:       "https://lexetius.com/BMG/29",
		groupsOver: 10, family: relatives,
		signs: []condition{from16 | notFamily | notGroup}, Signature: "paper", NoDrawnSignature: true, SignsOnArrival: true,
		IdentityCheck: "compareAtDesk", LeftToProperty: "limits.DE",
		wants: slices.Concat(
			deciding(0, Nationality, OtherNationality),
			deciding(companion|notGroup, Kinship),
			every(notFamily|notGroup, FirstName, LastName, BirthDate, Nationality, Street, City, Country),
			optional(notFamily|notGroup, OtherNationality, Postcode),
			every(foreign|notFamily|notGroup, DocumentNumber),
			every(group, Nationality), optional(group, OtherNationality),
		),
	},
}

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

// optionalInGroup has fields that are not required although their group is mandatory, because not every guest can answer them.
var optionalInGroup = map[Field]bool{
	SecondLastName: true, OtherNationality: true, Sex: true, Kinship: true, Postcode: true, Region: true, ComingFrom: true,
	SupportNumber: true, IssuingPlace: true, IssuingAuthority: true, IssueDate: true, BirthPlace: true, BirthCountry: true,
}
