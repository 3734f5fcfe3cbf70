import FuzzTableProperties
import Fuzzing

Fuzzing.main(.row)
