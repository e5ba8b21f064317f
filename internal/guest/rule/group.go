package rule

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
