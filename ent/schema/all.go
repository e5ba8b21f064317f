package schema

import "entgo.io/ent"

// All has every model.
var All = []ent.Interface{
	Act{}, App{}, Arrival{}, AuditEntry{}, AuditHead{}, Bridge{}, Code{}, Conflict{},
	Endpoint{}, Erasure{}, Event{}, EventCursor{}, Gate{}, Grant{}, Guesses{}, Idempotency{},
	Integration{}, Issuer{}, IssuerKey{}, KeySet{}, Lock{}, LockSample{}, Mapping{}, MappingChange{}, Message{}, Node{},
	Notice{}, PartnerSpace{}, Person{}, FormerPerson{}, Membership{}, PersonSession{}, PersonInvitation{}, RecoveryCode{}, SignInAttempts{}, Passkey{}, UsedChallenge{},
	PhoneLink{}, Phone{}, KeyStatus{}, DoorRule{}, Pin{}, Property{}, PropertyKey{}, Reservation{},
	ReservationChange{}, ReservationName{}, Secret{}, Slot{}, Space{}, Stay{}, Guest{}, RegisterEntry{},
	Disclosure{}, GuestProfile{}, ProfileLink{}, GuestLink{}, GuestSession{}, Kiosk{}, Attempts{}, CheckInSettings{}, MailSettings{},
	Invitation{}, Mail{}, Token{}, Tombstone{}, Webhook{},
}
