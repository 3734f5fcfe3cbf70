import Fuzzing

Fuzzing.main(.block)
