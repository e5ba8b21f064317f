package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Stay is what guests and the service add to a reservation: the party, consents and the check-in. The PMS changes none of it.
type Stay struct{ ent.Schema }

func (Stay) Annotations() []schema.Annotation {
	return table("stays", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Stay) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Int("adult_count").Annotations(pseudonym).Default(0).Comment("The number of adults that the guest entered; 0: the number of the PMS counts."),
		field.Int("child_count").Annotations(pseudonym).Default(0),
		field.Bool("party_set").Annotations(pseudonym).Default(false).Comment("The guest has entered who stays."),
		field.String("arrival_time").Annotations(pseudonym).MaxRuneLen(5).Default(""),
		maybe("arrival_set_at"),
		maybe("house_rules_accepted_at"),
		maybe("form_completed_at"), // since when no required answer of the party is missing, as the latest event says
		field.Bool("keep_profile").Annotations(pseudonym).Default(false),
		field.String("profile_id").Annotations(hashed(personal)).MaxRuneLen(64).Default("").Comment("The profile that was saved or offered in this stay, whatever the booker's address is now."),

		field.String("began_by").Annotations(pseudonym).MaxRuneLen(40).Default("").Comment("mail, door, or the id of a kiosk; empty: the check-in has not begun."),
		maybe("began_at"),
		maybe("details_confirmed_at"),
		field.JSON("cleared", []ClearedStage{}).Annotations(plain("The name of a member of staff, for the proof.")).Optional(),
		field.JSON("answer", StatusAnswer{}).Annotations(pseudonym).Optional().Comment("The latest answer to getCheckInStatus."),
		maybe("next_ask_at"),
		field.String("attempt_key").Annotations(pseudonym).MaxRuneLen(64).Default("").Comment("Idempotency key of the latest checkIn call."),
		field.String("attempt_session").Annotations(pseudonym).MaxRuneLen(40).Default("").Comment("The guest's session that called last for this attempt. Of sessions that a search opened, only this one gets the PIN."),
		field.String("attempt_state").Annotations(pseudonym).MaxRuneLen(16).Default("").Comment("calling, accepted, refused or atDesk."),
		field.Int("attempts").Annotations(pseudonym).Default(0).Comment("Calls under this key."),
		field.Bytes("attempt_body").Annotations(sealed(document)).Optional().Comment("The body of the call while its effect is not known, sealed with the property's key: each call under one key sends the same."),
		field.JSON("refusal", StatusAnswer{}).Annotations(pseudonym).Optional().Comment("Why the latest checkIn call was refused."),
		maybe("attempt_at"),
		maybe("accepted_at"),
		field.String("ended_by").Annotations(pseudonym).MaxRuneLen(16).Default("").Comment("guest, pms or canceled; empty: the check-in has not ended."),
		maybe("ended_at"),
		field.Time("evaluated_at").Annotations(row).Optional().Nillable().SchemaType(momentType).Comment("updated_at of the reservation when the check-in was last evaluated."),
		maybe("room_ready_mailed_at"),
		created(),
	}
}

func (Stay) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("reservation_id").Unique(), index.Fields("property_id", "began_at"),
		index.Fields("next_ask_at").Annotations(entsql.IndexWhere("next_ask_at IS NOT NULL")),
		index.Fields("ended_at", "reservation_id").Annotations(entsql.IndexWhere("ended_at IS NULL")),
	}
}

// ClearedStage says who cleared or refused a stage of the law, or waived an amount that is owed.
type ClearedStage struct {
	Stage   string `json:"stage"`
	By      string `json:"by"`
	At      string `json:"at"` // RFC 3339
	Refused string `json:"refused,omitempty"`

	OwingMinor    int64  `json:"owingMinor,omitempty"` // OwingMinor and OwingCurrency are the waived amount
	OwingCurrency string `json:"owingCurrency,omitempty"`
}

// StatusAnswer is what a PMS answered.
type StatusAnswer struct {
	At          string `json:"at"`                    // RFC 3339
	Reservation string `json:"reservation,omitempty"` // updated_at of the reservation when the PMS was asked, RFC 3339
	Source      string `json:"source,omitempty"`
	OwingMinor  *int64 `json:"owingMinor,omitempty"`
	Currency    string `json:"currency,omitempty"`
	RoomReady   *bool  `json:"roomReady,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Status      int    `json:"status,omitempty"`
	Call        string `json:"call,omitempty"`   // webhook-id of the call
	GoodAt      string `json:"goodAt,omitempty"` // when the PMS last answered without an error, RFC 3339
	// Since says since when the PMS has answered with a reason to stop, RFC 3339 by reason.
	Since map[string]string `json:"since,omitempty"`
	// ErrorText is the PMS's text about an error, sealed with the property's key, because it may name the guest. It is deleted when the
	// check-in ends.
	ErrorText []byte `json:"errorText,omitempty"`
}

// Guest is one person of a stay.
type Guest struct{ ent.Schema }

func (Guest) Annotations() []schema.Annotation {
	return table("guests", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Guest) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("role").Annotations(pseudonym).MaxRuneLen(16).Immutable().Comment("main or companion."),
		field.Bool("child").Annotations(pseudonym).Default(false),
		field.Int("position").Annotations(row).Default(0),
		field.Bytes("person").Annotations(sealed(document)).Optional().Comment("The answers, sealed with the property's key."),
		field.Bool("complete").Annotations(pseudonym).Default(false).Comment("No required answer was missing when it was last saved."),
		field.Bool("from_profile").Annotations(pseudonym).Default(false),
		field.Strings("shared_groups").Annotations(pseudonym).Optional().Comment("Groups of fields that the PMS may read of this guest, as the guest decided, or an adult for a minor."),
		maybe("sharing_set_at"),
		field.String("sharing_session").Annotations(pseudonym).MaxRuneLen(40).Default("").Comment("The session of the decision, if a search opened it. The decision then covers only the answers given in this session."),
		field.String("sharing_by").Annotations(pseudonym).MaxRuneLen(40).Default("").Comment("The guest who decided."),
		maybe("invited_at"),
		maybe("updated_at"),
		field.String("law").Annotations(pseudonym).MaxRuneLen(8).Default("").Comment("The country rule under which the answers were last saved; empty: none that names a retention."),
		field.Time("erase_at").Annotations(row).Optional().Nillable().SchemaType(momentType).Comment("When the answers of the official form are erased. It is set after the departure."),
		field.String("language").Annotations(pseudonym).MaxRuneLen(35).Default("").Comment("The BCP 47 tag of the language that the guest reads; empty: not known."),
		field.Int("deleted_messages").Annotations(row).Default(0).Comment("The number of the last message of a deleted conversation. The next one follows it, so that no number is used twice."),
		created(),
	}
}

func (Guest) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("reservation_id"), index.Fields("property_id"),
		index.Fields("reservation_id", "law").Annotations(entsql.IndexWhere("erase_at IS NULL AND law <> ''")),
		index.Fields("erase_at").Annotations(entsql.IndexWhere("erase_at IS NOT NULL")),
	}
}

// RegisterEntry is the official form of one guest who stayed, kept as long as the law requires. It outlives its reservation.
type RegisterEntry struct{ ent.Schema }

func (RegisterEntry) Annotations() []schema.Annotation {
	return table("register_entries", aboutGuests(privacy.LawsDay).Keeps("a law requires the form"))
}

func (RegisterEntry) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Unique().Immutable().Comment("The guest may be deleted."),
		field.String("law").Annotations(pseudonym).MaxRuneLen(8).Comment("The country rule under which the form is kept."),
		field.String("arrival_on").Annotations(pseudonym).MaxRuneLen(10).Comment("YYYY-MM-DD in the property's zone."),
		field.Bytes("form").Annotations(sealed(document)).Comment("The official form, sealed with the property's key."),
		moment("erase_at"),
		created(),
	}
}

func (RegisterEntry) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id", "arrival_on", "id"), index.Fields("erase_at")}
}

// Disclosure records that the PMS received groups of fields of one guest. It has no values of these fields.
type Disclosure struct{ ent.Schema }

func (Disclosure) Annotations() []schema.Annotation {
	return table("disclosures", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Disclosure) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable().Comment("Who got the fields."),
		field.Strings("groups").Annotations(pseudonym).Immutable(),
		field.String("why").Annotations(pseudonym).MaxRuneLen(16).Immutable().Comment("The reason of the disclosure: checkIn, or read."),
		field.String("call").Annotations(pseudonym).MaxRuneLen(64).Immutable().Comment("Idempotency key of the call. A repeated call with the same groups is recorded once."),
		field.String("refused").Annotations(pseudonym).MaxRuneLen(16).Default("").Immutable().Comment("Why a read got nothing, or empty."),
		field.Int("times").Annotations(pseudonym).Default(1).Comment("Reads with the same result within an hour."),
		maybe("last_at"), // of the last of several reads
		created(),
	}
}

func (Disclosure) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id"), index.Fields("guest_id")}
}

// GuestProfile is what a guest keeps at a property for the next stay. Its id is a keyed hash of the property and the address.
type GuestProfile struct{ ent.Schema }

func (GuestProfile) Annotations() []schema.Annotation {
	return table("guest_profiles", aboutGuests(privacy.Erasure, privacy.ThreeYears))
}

func (GuestProfile) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Annotations(hashed(personal)).MaxRuneLen(64).Immutable(),
		property(),
		field.Bytes("person").Annotations(sealed(document)).Comment("The answers that are kept for the next stay, sealed with the property's key."),
		moment("updated_at"),
		created(),
	}
}

func (GuestProfile) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id"), index.Fields("updated_at")}
}

// ProfileLink is the mailed link to a guest's profile, and the session of the device that binds it.
type ProfileLink struct{ ent.Schema }

func (ProfileLink) Annotations() []schema.Annotation {
	return table("profile_links", aboutGuests(privacy.Erasure, privacy.Expiry))
}

func (ProfileLink) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("profile_id").Annotations(hashed(personal)).MaxRuneLen(64).Immutable(),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the link, which is not stored."),
		field.Bytes("session_mac").Annotations(hashed(secret)).Optional().Unique().Comment("Keyed hash of the token of the device that bound the link."),
		moment("expires_at"), // of the link, then of the session
		created(),
	}
}

func (ProfileLink) Indexes() []ent.Index {
	return []ent.Index{index.Fields("profile_id"), index.Fields("expires_at")}
}

// GuestLink is the link of a mail to a guest. It binds one device.
type GuestLink struct{ ent.Schema }

func (GuestLink) Annotations() []schema.Annotation {
	return table("guest_links", aboutGuests(privacy.Erasure, privacy.Stay, privacy.Expiry))
}

func (GuestLink) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Default("").Immutable().Comment("The companion whom the link is for; empty: the booker."),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the link, which is not stored."),
		field.Bytes("address_mac").Annotations(hashed(personal)).Optional().Immutable().Comment("Keyed hash of the address that the link was mailed to; empty: it was not mailed."),
		field.String("handed_by").Annotations(pseudonym).MaxRuneLen(40).Default("").Immutable().Comment("The session that made the link, at a kiosk or on another device of the guest; empty: the link was mailed, or shown to the main guest for a companion."),
		moment("expires_at"),
		maybe("bound_at"),
		maybe("revoked_at"),
		created(),
	}
}

func (GuestLink) Indexes() []ent.Index {
	return []ent.Index{index.Fields("reservation_id"), index.Fields("expires_at")}
}

// GuestSession is a guest's device, or a guest's visit at a kiosk.
type GuestSession struct{ ent.Schema }

func (GuestSession) Annotations() []schema.Annotation {
	return table("guest_sessions", aboutGuests(privacy.Erasure, privacy.Stay, privacy.Expiry))
}

func (GuestSession) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Default("").Immutable().Comment("The companion of the session; empty: it may act for the whole party."),
		field.String("origin").Annotations(pseudonym).MaxRuneLen(40).Immutable().Comment("mail, door, or the id of a kiosk."),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Unique().Comment("Keyed hash of the token."),
		field.String("handed_by").Annotations(pseudonym).MaxRuneLen(40).Default("").Immutable().Comment("The session that handed the stay to this device, at a kiosk or on another device of the guest, or empty. It has its right to the PIN."),
		field.Bool("pin_shown").Annotations(pseudonym).Default(false),
		field.Bool("of_former_address").Annotations(pseudonym).Default(false).Comment("Opened from a mail before the booker's address was corrected: an address given in it gets no code."),
		field.String("device").Annotations(pseudonym).MaxRuneLen(16).Default("").Immutable().Comment("What the device is, as it said: iPhone, iPad, Android, Windows, Mac, Linux, or empty."),
		moment("used_at"),
		moment("expires_at"),
		maybe("revoked_at"),
		created(),
	}
}

func (GuestSession) Indexes() []ent.Index {
	return []ent.Index{index.Fields("reservation_id"), index.Fields("expires_at")}
}

// Kiosk is a check-in tablet of a property.
type Kiosk struct{ ent.Schema }

func (Kiosk) Annotations() []schema.Annotation { return table("kiosks", aboutThings(privacy.Deletion)) }

func (Kiosk) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("name").Annotations(none).MaxRuneLen(64),
		field.String("door").Annotations(row).MaxRuneLen(64).Immutable().Unique().Comment("The last part of the address in its QR code."),
		field.Bytes("code_mac").Annotations(hashed(secret)).Optional().Nillable().Unique().Comment("Keyed hash of the enrolment code."),
		maybe("code_expires_at"),
		field.Bytes("mac").Annotations(hashed(secret)).Optional().Nillable().Unique().Comment("Keyed hash of the tablet's token."),
		field.Bytes("public_key").Annotations(none).Optional().Comment("The public key of the tablet, as SubjectPublicKeyInfo."),
		maybe("enrolled_at"),
		maybe("seen_at"),
		maybe("proved_at"),
		created(),
	}
}

func (Kiosk) Indexes() []ent.Index { return []ent.Index{index.Fields("property_id", "name").Unique()} }

// Attempts counts failed searches of one kiosk, address, reservation or property. Its id is a keyed hash of which.
type Attempts struct{ ent.Schema }

func (Attempts) Annotations() []schema.Annotation {
	return table("attempts", aboutGuests(privacy.Expiry).Keeps("a count belongs to a keyed hash"))
}

func (Attempts) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Annotations(hashed(personal)).MaxRuneLen(64).Immutable(),
		property(),
		moment("began_at"),
		moment("last_at"),
		field.Int("count").Annotations(pseudonym).Default(0).Comment("Failed searches since began_at."),
	}
}

func (Attempts) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id"), index.Fields("began_at")}
}

// CheckInSettings are a property's rules of self check-in. Its id is the property's.
type CheckInSettings struct{ ent.Schema }

func (CheckInSettings) Annotations() []schema.Annotation {
	return table("check_in_settings", aboutThings(privacy.Deletion))
}

func (CheckInSettings) Indexes() []ent.Index { return []ent.Index{index.Fields("property_id")} }

func (CheckInSettings) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("rule").Annotations(none).MaxRuneLen(8).Default("none"),
		field.JSON("fields", []OwnField{}).Annotations(none).Optional(),
		field.Strings("mandatory_groups").Annotations(none).Optional(),
		field.Strings("often_countries").Annotations(none).Optional(),
		field.String("identity_check").Annotations(none).MaxRuneLen(16).Default("none"),
		field.String("signature").Annotations(none).MaxRuneLen(16).Default("none"),
		field.String("house_rules").Annotations(none).MaxRuneLen(4000).Default(""),
		field.Int("invite_days").Annotations(none).Default(14),
		field.Int("remind_days").Annotations(none).Default(2),
		field.Int("kiosk_offline_minutes").Annotations(none).Default(15).Comment("How long a tablet makes no call before staff get a notice; 0: they get none."),
		field.String("staff_email").Annotations(plain("The contact of the property.")).MaxRuneLen(255).Default(""),
		field.String("desk_phone").Annotations(plain("The contact of the property.")).MaxRuneLen(40).Default(""),
		field.String("language").Annotations(none).MaxRuneLen(16).Default("en"),
		field.String("accent").Annotations(none).MaxRuneLen(7).Default(""),
		field.String("address").Annotations(none).MaxRuneLen(500).Default(""),
		field.String("directions").Annotations(none).MaxRuneLen(2000).Default(""),
		field.JSON("texts", map[string]LocalTexts{}).Annotations(none).Optional().Comment("The texts that guests read in other languages than the default one, by BCP 47 tag."),
		field.Int("keep_stay_days").Annotations(none).Default(0).Comment("How long a reservation is kept after its end; 0: as long as the installation keeps it."),
		field.Int("message_days").Annotations(none).Default(0).Comment("How long messages with guests are kept after the end of the stay; 0: with the reservation."),
		field.String("who_fills").Annotations(none).MaxRuneLen(8).Default("all"),
		created(),
	}
}

// LocalTexts are the texts of a property for guests in one language. An empty text is read in the default language.
type LocalTexts struct {
	HouseRules string `json:"houseRules,omitempty"`
	Directions string `json:"directions,omitempty"`
	Address    string `json:"address,omitempty"`
}

// OwnField is a question of the property.
type OwnField struct {
	Name     string `json:"name"`
	Label    string `json:"label"`
	Required bool   `json:"required,omitempty"`
	MainOnly bool   `json:"mainOnly,omitempty"`
	// Labels has the label in other languages, by BCP 47 tag.
	Labels map[string]string `json:"labels,omitempty"`
}

// MailSettings are a property's mail server and sender. Its id is the property's.
type MailSettings struct{ ent.Schema }

func (MailSettings) Annotations() []schema.Annotation {
	return table("mail_settings", aboutThings(privacy.Deletion))
}

func (MailSettings) Indexes() []ent.Index { return []ent.Index{index.Fields("property_id")} }

func (MailSettings) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("host").Annotations(none).MaxRuneLen(253).Default(""),
		field.Int("port").Annotations(none).Default(587),
		field.String("security").Annotations(none).MaxRuneLen(8).Default("starttls"),
		field.String("user").Annotations(plain("The contact of the property.")).MaxRuneLen(255).Default(""),
		field.Bytes("password").Annotations(sealed(secret)).Optional().Comment("The password of the mail server, sealed with the property's key."),
		field.String("from_address").Annotations(plain("The contact of the property.")).MaxRuneLen(255).Default(""),
		field.String("from_name").Annotations(plain("The contact of the property.")).MaxRuneLen(255).Default(""),
		field.String("reply_to").Annotations(plain("The contact of the property.")).MaxRuneLen(255).Default(""),
		created(),
	}
}

// Invitation says how far the invitation of a reservation's booker is. A reservation has one as soon as its arrival is near enough.
type Invitation struct{ ent.Schema }

func (Invitation) Annotations() []schema.Annotation {
	return table("invitations", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Invitation) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		moment("seen_at"), // updated_at of the reservation when it was last evaluated
		maybe("next_at"),  // when the next mail may be due
		maybe("due_at"),   // since when an invitation is due that waits for the rest of the group
		field.Bytes("address_mac").Annotations(hashed(personal)).Optional().Comment("Keyed hash of the booker's address when it was last evaluated."),
		maybe("invited_at"),
		field.String("mail_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The invitation that lists the reservation."),
		maybe("reminded_at"),
		field.String("reminder_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The reminder that lists the reservation."),
		field.Int("round").Annotations(pseudonym).Default(0).Comment("How many mails listed the reservation. It is part of their once keys."),
		created(),
	}
}

func (Invitation) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("reservation_id").Unique(), index.Fields("property_id"), index.Fields("mail_id"), index.Fields("reminder_id"),
		index.Fields("next_at").Annotations(entsql.IndexWhere("next_at IS NOT NULL")),
	}
}

// Mail is one mail that was ordered. It holds no text: the text is rendered when the mail is sent.
type Mail struct{ ent.Schema }

func (Mail) Annotations() []schema.Annotation {
	return table("mails", aboutGuests(privacy.Erasure, privacy.Stay, privacy.Events))
}

func (Mail) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("kind").Annotations(pseudonym).MaxRuneLen(32).Immutable(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Default("").Immutable(),
		field.String("guest_id").Annotations(row).MaxRuneLen(40).Default("").Immutable(),
		field.String("once_key").Annotations(pseudonym).MaxRuneLen(200).Optional().Nillable().Unique().Immutable().Comment("Ordered once under this key."),
		field.Bytes("address").Annotations(sealed(personal)).Comment("The recipient, sealed with the property's key."),
		field.Bytes("address_mac").Annotations(hashed(personal)).Optional().Comment("Keyed hash of the recipient of the latest attempt."),
		field.JSON("parameters", map[string]string{}).Annotations(pseudonym).Optional().Comment("The parameters of a mail to staff or of an invitation to join, without PIN, secret and guest data."),
		field.String("state").Annotations(pseudonym).MaxRuneLen(16).Default("waiting"),
		field.Int("attempts").Annotations(pseudonym).Default(0),
		field.String("failure").Annotations(pseudonym).MaxRuneLen(32).Default(""),
		field.Bytes("reply").Annotations(sealed(personal)).Optional().Comment("What the mail server answered. It may repeat a part of an address."),
		field.Bytes("text").Annotations(sealed(personal)).Optional().Comment("The text of a mail in the mailbox, sealed with the property's key."),
		maybe("sent_at"),
		created(),
	}
}

func (Mail) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "created_at"), index.Fields("reservation_id"), index.Fields("property_id", "address_mac"),
		index.Fields("created_at").Annotations(entsql.IndexWhere("state = 'waiting' OR state = 'sending'")),
		index.Fields("created_at", "id").Annotations(entsql.IndexWhere("reservation_id = ''")),
		index.Fields("property_id").Annotations(entsql.IndexWhere("state = 'mailbox'")),
	}
}
