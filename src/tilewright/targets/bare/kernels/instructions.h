/* Instructions that a user has declared: none here. A generated file takes its place where there are some. */
