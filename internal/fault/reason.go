package fault

// Reason is a stable camelCase word that machines may act on. The words are those of the
// enum latchkey.errors.v1.Reason, where each is explained; a test of the API keeps the two
// the same. A constant whose name would be that of a Kind ends in Reason.
type Reason string

// Reasons of refused calls.
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
)

// Reasons of a check-in that cannot go on.
const (
	Owing                 Reason = "owing"
	RoomNotReady          Reason = "roomNotReady"
	PartnerError          Reason = "partnerError"
	PartnerUnavailable    Reason = "partnerUnavailable"
	EndpointNotRegistered Reason = "endpointNotRegistered"
)

// Reasons why a door, or a whole plan, is not (yet) open to the guest.
const (
	NoLock              Reason = "noLock"
	SpaceUnknown        Reason = "spaceUnknown"
	SpaceNotMapped      Reason = "spaceNotMapped"
	RoomNotAssigned     Reason = "roomNotAssigned"
	LockOffline         Reason = "lockOffline"
	SlotsFull           Reason = "slotsFull"
	NotCheckedIn        Reason = "notCheckedIn"
	WindowInFuture      Reason = "windowInFuture"
	WindowPast          Reason = "windowPast"
	CheckedOut          Reason = "checkedOut"
	ReservationCanceled Reason = "reservationCanceled"
	NotFirm             Reason = "notFirm"
	MovingOut           Reason = "movingOut"
	PINNotPossible      Reason = "pinNotPossible"
	DuplicateOnLock     Reason = "duplicateOnLock"
	OwnPIN              Reason = "ownPin"
	LockRefused         Reason = "lockRefused"
	SpaceShared         Reason = "spaceShared"
	FormerCode          Reason = "formerCode"
	LockJammed          Reason = "lockJammed"
	StayEnded           Reason = "stayEnded"
	ClockUntrusted      Reason = "clockUntrusted"
	NoBridge            Reason = "noBridge"
	SpaceInactive       Reason = "spaceInactive"
	SpacesDisagree      Reason = "spacesDisagree"
	BedNotAssigned      Reason = "bedNotAssigned"
)

// Reasons of a door or bridge that cannot be reached.
const (
	RemoteUnlockUnsupported Reason = "remoteUnlockUnsupported"
	BridgeOffline           Reason = "bridgeOffline"
	NodeUnreachable         Reason = "nodeUnreachable"
	BridgeRevoked           Reason = "bridgeRevoked"
	JoinCodeInvalid         Reason = "joinCodeInvalid"
	LinkInvalid             Reason = "linkInvalid"
	SmartKeyRefused         Reason = "smartkeyRefused"
)

// More reasons of refused calls.
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
)

// Reasons of one wrong field.
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
