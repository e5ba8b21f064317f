package fault

// Reason is a stable camelCase identifier that programs may act on. The enum latchkey.errors.v1.Reason describes each value. Packages
// checkin, space, lock and access define further reasons of their own. A constant that would have the name of a Kind ends in Reason.
type Reason string

// Reasons why a call is refused.
const (
	InvalidFields          Reason = "invalidFields"
	BadJSON                Reason = "badJson"
	DatesNotValid          Reason = "datesNotValid"
	IdempotencyKeyReused   Reason = "idempotencyKeyReused"
	InvalidCredentials     Reason = "invalidCredentials"
	ScopeMissing           Reason = "scopeMissing"
	RoleMissing            Reason = "roleMissing"
	NotShared              Reason = "notShared"
	OutsideStay            Reason = "outsideStay"
	ReservationNotFound    Reason = "reservationNotFound"
	SpaceNotFound          Reason = "spaceNotFound"
	NotFoundReason         Reason = "notFound"
	RouteNotFound          Reason = "routeNotFound"
	MethodNotAllowedReason Reason = "methodNotAllowed"
	NotAcceptableReason    Reason = "notAcceptable"
	IdempotencyInFlight    Reason = "idempotencyInFlight"
	EtagMismatch           Reason = "etagMismatch"
	Outdated               Reason = "outdated"
	AlreadyExists          Reason = "alreadyExists"
	ShownOnce              Reason = "shownOnce"
	BodyTooLarge           Reason = "bodyTooLarge"
	BodyTooSlow            Reason = "bodyTooSlow"
	RateLimited            Reason = "rateLimited"
	UnavailableReason      Reason = "unavailable"
	InternalError          Reason = "internalError"
	DeadlineExceeded       Reason = "deadlineExceeded"
	UnimplementedReason    Reason = "unimplemented"
	Ambiguous              Reason = "ambiguous"
	InUse                  Reason = "inUse"
	CodesOnLocks           Reason = "codesOnLocks"
	SmartkeysInUse         Reason = "smartkeysInUse"
)

// Reasons why a call to a PMS failed.
const (
	PartnerError          Reason = "partnerError"
	PartnerUnavailable    Reason = "partnerUnavailable"
	EndpointNotRegistered Reason = "endpointNotRegistered"
)

// Reasons why a bridge, a lock or a phone is refused or cannot be reached.
const (
	RemoteUnlockUnsupported Reason = "remoteUnlockUnsupported"
	BridgeOffline           Reason = "bridgeOffline"
	NodeUnreachable         Reason = "nodeUnreachable"
	JoinCodeInvalid         Reason = "joinCodeInvalid"
	LinkInvalid             Reason = "linkInvalid"
	StayEnded               Reason = "stayEnded"
	NoAccess                Reason = "noAccess"
	SmartKeyRefused         Reason = "smartkeyRefused"
)

// More reasons why a call is refused.
const (
	CanceledReason      Reason = "canceled"
	AppNotFound         Reason = "appNotFound"
	BridgeNotFound      Reason = "bridgeNotFound"
	ConflictNotFound    Reason = "conflictNotFound"
	EndpointNotFound    Reason = "endpointNotFound"
	GateNotFound        Reason = "gateNotFound"
	IntegrationNotFound Reason = "integrationNotFound"
	LockNotFound        Reason = "lockNotFound"
	NoticeNotFound      Reason = "noticeNotFound"
	PropertyNotFound    Reason = "propertyNotFound"
	TokenNotFound       Reason = "tokenNotFound"
	CodeNotFound        Reason = "codeNotFound"
	WebhookNotFound     Reason = "webhookNotFound"
)

// Reasons why a guest or a check-in tablet is refused.
const (
	LinkNotFound      Reason = "linkNotFound"
	LinkBound         Reason = "linkBound"
	StayNotFound      Reason = "stayNotFound"
	TooManyAttempts   Reason = "tooManyAttempts"
	GuestNotFound     Reason = "guestNotFound"
	KioskNotFound     Reason = "kioskNotFound"
	KioskCodeInvalid  Reason = "kioskCodeInvalid"
	ProofInvalid      Reason = "proofInvalid"
	MinorNeedsAdult   Reason = "minorNeedsAdult"
	CannotSignHere    Reason = "cannotSignHere"
	DetailsChanged    Reason = "detailsChanged"
	NotSigned         Reason = "notSigned"
	PINNotShown       Reason = "pinNotShown"
	DoorNotFound      Reason = "doorNotFound"
	MainGuestOnly     Reason = "mainGuestOnly"
	NotYourConsent    Reason = "notYourConsent"
	DeviceNotFound    Reason = "deviceNotFound"
	NoUnansweredCall  Reason = "noUnansweredCall"
	NoGuestAddress    Reason = "noGuestAddress"
	ErasureNotPending Reason = "erasureNotPending"
)

// Reasons why a person of the staff is refused.
const (
	RightMissing         Reason = "rightMissing"
	PersonRequired       Reason = "personRequired"
	PropertyRequired     Reason = "propertyRequired"
	SecondFactorRequired Reason = "secondFactorRequired"
	SecondFactorMissing  Reason = "secondFactorMissing"
	InvitationNotFound   Reason = "invitationNotFound"
	SessionNotFound      Reason = "sessionNotFound"
	PersonNotFound       Reason = "personNotFound"
	RoleAboveYours       Reason = "roleAboveYours"
	OwnMembership        Reason = "ownMembership"
	LastOwner            Reason = "lastOwner"
	PasskeysUnavailable  Reason = "passkeysUnavailable"
	PasskeyRefused       Reason = "passkeyRefused"
	TooManyPasskeys      Reason = "tooManyPasskeys"
	PasskeyNotFound      Reason = "passkeyNotFound"
	ProviderMissing      Reason = "identityProviderMissing"
	ProviderUnavailable  Reason = "identityProviderUnavailable"
	IdentityRefused      Reason = "identityRefused"
	IdentityNotFresh     Reason = "identityNotFresh"
	IdentityUnknown      Reason = "identityUnknown"
	IdentityTaken        Reason = "identityTaken"
	AccountDisabled      Reason = "accountDisabled"
	IdentityAddress      Reason = "identityAddress"
	PasswordMissing      Reason = "passwordMissing"
	SignInAgain          Reason = "signInAgain"
)

// Reasons why one field is wrong.
const (
	Required     Reason = "required"
	WrongType    Reason = "wrongType"
	WrongValue   Reason = "wrongValue"
	OutOfRange   Reason = "outOfRange"
	TooLong      Reason = "tooLong"
	TooShort     Reason = "tooShort"
	TooMany      Reason = "tooMany"
	TooFew       Reason = "tooFew"
	BadFormat    Reason = "badFormat"
	Duplicate    Reason = "duplicate"
	NotPrintable Reason = "notPrintable"
	Conflicting  Reason = "conflicting"
	Unsupported  Reason = "unsupported"
	InFuture     Reason = "inFuture"
)

// Reasons why an answer of a guest's form is wrong.
const (
	NotADate      Reason = "notADate"
	NotPossible   Reason = "notPossible"
	NotACountry   Reason = "notACountry"
	NotAnOption   Reason = "notAnOption"
	NotAnAddress  Reason = "notAnAddress"
	NotAPhone     Reason = "notAPhone"
	BadCharacter  Reason = "badCharacter"
	NotYourAnswer Reason = "notYourAnswer"
)
