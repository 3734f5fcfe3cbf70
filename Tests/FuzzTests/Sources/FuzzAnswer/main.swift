import Fuzzing

Fuzzing.main(.answer)
