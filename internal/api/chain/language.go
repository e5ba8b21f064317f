package chain

import (
	"context"

	"google.golang.org/grpc/metadata"

	"latchkey.dev/internal/message"
)

// maxLanguages is the largest size in bytes of an Accept-Language header. A longer header is ignored.
const maxLanguages = 256

// Language returns the language for the texts of an answer: the first language in the call's Accept-Language header that has texts, else
// the first of more that has texts, else English. gRPC calls send the header as metadata.
func Language(ctx context.Context, more ...string) string {
	md, _ := metadata.FromIncomingContext(ctx)
	accept := singleValue(md, "accept-language")
	if len(accept) > maxLanguages {
		accept = ""
	}
	if accept == "" && len(more) == 0 {
		return message.English
	}
	if language := message.Match(accept, more...); language != "" {
		return language
	}
	return message.English
}

// Reader returns a renderer of texts in the language of a call. It has no time zone, so it is for texts without times.
func Reader(ctx context.Context) message.Reader { return message.Reader{Language: Language(ctx)} }
