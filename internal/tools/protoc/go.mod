module latchkey.dev/internal/tools/protoc

go 1.26.8

tool github.com/jhump/goprotoc/cmd/goprotoc

require (
	github.com/bufbuild/protocompile v0.14.1 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/jhump/gopoet v0.1.0 // indirect
	github.com/jhump/goprotoc v0.5.0 // indirect
	github.com/jhump/protoreflect v1.17.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	google.golang.org/genproto v0.0.0-20200526211855-cb27e3aa2013 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
