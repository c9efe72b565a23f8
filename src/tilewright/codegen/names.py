"""C identifiers for tensors and layers. Names from a model are data: only letters, digits and underscores survive."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from tilewright.ir.short_names import short_names
from tilewright.records import dataclass

SMALL_COMPILERS = frozenset({"near", "far", "huge", "interrupt"})
"""Words that compilers for small processors have besides."""

KEYWORDS = SMALL_COMPILERS | frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "intptr_t", "uintptr_t",
    "size_t", "ptrdiff_t", "wchar_t", "intmax_t", "uintmax_t", "bool", "true", "false", "complex", "imaginary", "asm",
    "typeof", "fortran", "unix", "linux", "main",
})  # fmt: skip
"""Words and types of C and of its compilers."""

_LIBRARY = """
    abort abs acos asin assert atan atan2 atexit atof atoi atol atoll bsearch calloc ceil clearerr clock
    clock_gettime cos cosh ctime difftime div environ erf erfc errno exit exp exp2 expm1 fabs fclose fdim feof ferror
    fflush fgetc fgetpos fgets floor fma fmax fmin fmod fopen fprintf fputc fputs fread free freopen frexp fscanf fseek
    fsetpos ftell fwrite getc getchar getenv gets gmtime hypot ilogb isalnum isalpha isblank iscntrl isdigit isfinite
    isgraph isinf islower isnan isnormal isprint ispunct isspace isupper isxdigit labs ldexp ldiv lgamma llabs lldiv
    llrint llround localtime log log10 log1p log2 logb longjmp lrint lround malloc memchr memcmp memcpy memmove memset
    mktime modf nan nearbyint nextafter nexttoward perror pow printf putc putchar puts qsort raise rand realloc
    remainder remove remquo rename rewind rint round scalbln scalbn scanf setbuf setjmp setlocale setvbuf signal
    signbit sin sinh snprintf sprintf sqrt srand sscanf stderr stdin stdout strcat strchr strcmp strcoll strcpy strcspn
    strerror strftime strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold
    strtoll strtoul strtoull strxfrm system tan tanh tgamma time tmpfile tmpnam tolower toupper trunc ungetc va_arg
    va_copy va_end va_start vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf dprintf fdopen fileno getdelim
    getline popen pclose putenv stat open close read write fork link unlink wait kill sleep
"""
LIBRARY = frozenset(_LIBRARY.split())
"""Functions and variables of C's library and of POSIX. Compilers know many of them without a header."""

LIBRARY_HEADERS = frozenset({
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "malloc", "math",
    "memory", "pthread", "sched", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint",
    "stdio", "stdlib", "stdnoreturn", "string", "strings", "tgmath", "threads", "time", "uchar", "unistd", "wchar",
    "wctype",
})  # fmt: skip
"""A header of ours with such a name would be found in the place of C's or the system's."""

MATH = re.compile(
    r"(acos|asin|atan|atan2|cbrt|ceil|copysign|cos|cosh|erf|erfc|exp|exp2|expm1|fabs|fdim|floor|fma|fmax|fmin|fmod|frexp"
    r"|hypot|ilogb|ldexp|lgamma|llrint|llround|log|log10|log1p|log2|logb|lrint|lround|modf|nan|nearbyint|nextafter"
    r"|nexttoward|pow|remainder|remquo|rint|round|scalbln|scalbn|sin|sinh|sqrt|tan|tanh|tgamma|trunc)[fl]?"
    r"|c(abs|acos|acosh|arg|asin|asinh|atan|atanh|cos|cosh|exp|imag|log|onj|pow|proj|real|sin|sinh|sqrt|tan|tanh)[fl]?"
    r"|(acosh|asinh|atanh)[fl]?"
)
"""Functions of numbers, for each width of them."""


@dataclass(frozen=True)
class Reserved:
    """Names that generated code has for itself. Each template says beside itself which it uses."""

    words: frozenset[str] = frozenset()
    families: tuple[str, ...] = ()
    """Regular expressions for names with numbers or other names in them."""

    def __or__(self, other: Reserved) -> Reserved:
        return Reserved(self.words | other.words, self.families + other.families)

    def has(self, word: str) -> bool:
        return word in self.words or self.has_family(word)

    def has_family(self, word: str) -> bool:
        return any(re.fullmatch(family, word) for family in self.families)


NOTHING = Reserved()

_LATER_WORDS = """
    alignas alignof and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl
    concept const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export friend mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires
    static_assert static_cast template this thread_local throw try typeid typename typeof_unqual using virtual
    xor xor_eq
"""
LATER_WORDS = Reserved(frozenset(_LATER_WORDS.split()))
"""Words of C++, which reads network.h, and of C since 2023: no tensor is called so, but a network may be."""

OWN_PREFIX = "tw_"
"""Kernels and their types begin so; nothing from a model does."""


LONGEST = 48
"""Letters of an identifier."""
LONGEST_LAST = 12
"""Letters of its last word that stay where others are left out: `exponents` has nine."""


def for_identifiers(names: Iterable[str]) -> dict[str, str]:
    """For each name itself, or if an identifier cannot hold it the tail that tables show: many names of a network begin
    alike."""
    every = list(names)
    if all(len(name) <= LONGEST for name in every):
        return dict(zip(every, every, strict=True))
    return {name: name if len(name) <= LONGEST else short for name, short in short_names(every).items()}


def identifier(text: str, fallback: str = "tensor") -> str:
    """The nearest legal C identifier, in lower case and not too long."""
    word = _cut(re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower())
    if not word:
        word = fallback
    if word[0].isdigit() or word.startswith(OWN_PREFIX):
        word = f"{fallback}_{word}"
    return f"{word}_" if is_known_to_compilers(word) else word


def _cut(word: str) -> str:
    """Without letters in the middle, where there are too many: the end says which of a layer's constants it is."""
    if len(word) <= LONGEST:
        return word
    last = word.rpartition("_")[2][-LONGEST_LAST:]
    return f"{word[: LONGEST - 1 - len(last)].rstrip('_')}_{last}"


def is_known_to_compilers(word: str) -> bool:
    return word in KEYWORDS or word in LIBRARY or MATH.fullmatch(word) is not None


def unique(wanted: Mapping[str, str], taken: Iterable[str] = (), reserved: Reserved = NOTHING) -> dict[str, str]:
    """For each key an identifier of its own, near the text that it stands for and none of those that are reserved."""
    used, chosen = {*taken, *reserved.words}, {}
    numbers: defaultdict[str, Iterator[str]] = defaultdict(lambda: map(str, count(2)))  # behind each word, in turn
    for name, text in wanted.items():
        chosen[name] = _free(identifier(text), used, numbers, reserved)
        used.add(chosen[name])
    return chosen


def _free(base: str, used: set[str], numbers: Mapping[str, Iterator[str]], reserved: Reserved) -> str:
    """The word itself, or the first with a number behind it that nothing is called."""
    word = base
    while word in used:
        word = f"{base}_{next(numbers[base])}"
    return _free(f"tensor_{base}", used, numbers, reserved) if reserved.has_family(word) else word


def comment(text: str, letters: int = 100) -> str:
    """Text that cannot end a comment, continue a line or hold control characters."""
    safe = "".join(c if c.isprintable() and ord(c) < 127 else "?" for c in text).replace("\\", "|")
    return safe.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")[:letters]
