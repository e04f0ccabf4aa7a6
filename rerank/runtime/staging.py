"""The former place of `staged_folder`."""

from rerank.runtime.output import staged_folder as staged_folder
